"""Addresses that are none, or where nobody is, are told in words before Spark is asked."""

import socket
from contextlib import closing

import pytest

from formats.errors import ConfigError, TransientError
from formats.layout import Layout
from resources.engine import EngineResource
from resources.engines import spark_address
from tests import ports

GOOD = (
    "local", "local[2]", "local[*]", "local[2,3]", "local-cluster[2,1,1024]", "spark://node-1.example:7077",
    "spark://a:7077,b:7077", "spark://[::1]:7077", "yarn", "k8s://https://10.0.0.1:6443", "sc://localhost",
    "sc://node:15002/;token=x",
)  # fmt: skip
BAD = (
    "locl[2]",
    "local[0]",
    "local[two]",
    "local-cluster[2,1]",
    "spark://node",
    "node:7077",
    "http://node",
    "sc://",
    "",
)


@pytest.mark.parametrize("address", GOOD)
def test_what_spark_takes_is_taken(address):
    spark_address.check(address, "here")


@pytest.mark.parametrize("address", BAD)
def test_anything_else_is_refused_with_the_setting_and_the_forms(address):
    with pytest.raises(ConfigError, match=r"^here: .* is no address of Spark; expected such as local\[2\], .*sc://"):
        spark_address.check(address, "here")


def test_the_resource_refuses_them_by_the_names_of_its_settings(tmp_path):
    layout = Layout(tmp_path)
    with pytest.raises(ConfigError, match=r"CORPUS_SPARK\): 'locl\[2\]'"):
        EngineResource(spark="locl[2]").open(layout)
    for command in ("spark-submit --master locl[2]", "spark-submit --master=sc://node", "spark-submit --master"):
        with pytest.raises(ConfigError, match=r"CORPUS_SPARK_SUBMIT\): --master: "):
            EngineResource(spark_submit=command).open(layout)
    with pytest.raises(ConfigError, match=r"'spark-submit \"--master' is no command line \(No closing quotation\)"):
        EngineResource(spark_submit='spark-submit "--master').open(layout)


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_port_where_nobody_listens_may_be_tried_again_and_a_name_nobody_knows_may_not(scheme, monkeypatch):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        spark_address.reach(f"{scheme}://127.0.0.1:{server.getsockname()[1]}")
    with (
        ports.closed() as port,
        pytest.raises(TransientError, match=rf"127.0.0.1:{port}: nobody answers \(Connection refused\); start it"),
    ):
        spark_address.reach(f"{scheme}://127.0.0.1:{port}")

    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    with pytest.raises(ConfigError, match="the host has no known address"):
        spark_address.reach(f"{scheme}://nowhere.invalid:{port}")


def test_one_master_of_several_that_answers_is_enough():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        spark_address.reach(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")


def test_other_masters_are_for_spark_to_reach():
    for address in ("local[2]", "yarn", "k8s://https://nowhere.invalid:6443"):
        spark_address.reach(address)
