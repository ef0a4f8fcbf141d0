"""Why a record of a fetched file cannot become a document: every reason once."""

from enum import StrEnum


class RejectReason(StrEnum):
    """Why a record cannot become a document. Stored in `rejects.jsonl.zst`; named after what was found."""

    BROKEN_JSON = "broken_json"
    NOT_AN_OBJECT = "not_an_object"
    INVALID_UTF8 = "invalid_utf8"
    LONE_SURROGATE = "lone_surrogate"
    BLANK_LINE = "blank_line"
    NO_TEXT_FIELD = "no_text_field"
    TEXT_NOT_A_STRING = "text_not_a_string"
    DUPLICATE_FIELD = "duplicate_field"
    NO_URL_FIELD = "no_url_field"
    BAD_DATE = "bad_date"
    LICENSE_MISSING = "license_missing"
    LICENSE_MISMATCH = "license_mismatch"
    RECORD_TOO_LARGE = "record_too_large"
    BINARY_CONTENT = "binary_content"
    NOT_A_RESPONSE = "not_a_response"
    NOT_A_CONVERSION = "not_a_conversion"
    NO_TARGET_URI = "no_target_uri"
    NOT_HTTP = "not_http"
    BROKEN_HTTP = "broken_http"
    HTTP_STATUS_NOT_200 = "http_status_not_200"
    MEDIA_TYPE_NOT_TEXT = "media_type_not_text"
    NOT_A_FILE = "not_a_file"
    OTHER_FILE_NAME = "other_file_name"
    BROKEN_MEMBER = "broken_member"
    ENCRYPTED_MEMBER = "encrypted_member"
    UNSAFE_MEMBER_NAME = "unsafe_member_name"
    DUPLICATE_MEMBER = "duplicate_member"
    PAGE_TOO_LARGE = "page_too_large"
    BROKEN_HTML = "broken_html"
    NO_MAIN_TEXT = "no_main_text"
    PARSER_CRASHED = "parser_crashed"
    PARSER_TIMEOUT = "parser_timeout"


DAMAGED = frozenset({
    RejectReason.BROKEN_JSON, RejectReason.NOT_AN_OBJECT, RejectReason.INVALID_UTF8, RejectReason.LONE_SURROGATE,
    RejectReason.NO_TEXT_FIELD, RejectReason.TEXT_NOT_A_STRING, RejectReason.NO_URL_FIELD, RejectReason.BAD_DATE,
    RejectReason.DUPLICATE_FIELD, RejectReason.RECORD_TOO_LARGE, RejectReason.BROKEN_HTTP, RejectReason.BROKEN_MEMBER,
    RejectReason.ENCRYPTED_MEMBER, RejectReason.UNSAFE_MEMBER_NAME, RejectReason.DUPLICATE_MEMBER,
    RejectReason.PAGE_TOO_LARGE, RejectReason.BROKEN_HTML, RejectReason.PARSER_CRASHED, RejectReason.PARSER_TIMEOUT,
})  # fmt: skip
"""Records that should have become documents. The other reasons say that a record never was one."""
