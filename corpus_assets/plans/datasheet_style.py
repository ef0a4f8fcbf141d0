"""The looks of the datasheet page: light, dark by the reader's choice, and on paper."""

CSS = """
:root{--ground:#fff;--ink:#1c2430;--soft:#5b6675;--line:#dde2e9;--band:#f5f7fa;--link:#1f55b5;
--bar:#0072b2;--kept:#009e73;--drop:#d55e00;--drop-ink:#a34700}
@media screen and (prefers-color-scheme:dark){:root{--ground:#14181f;--ink:#e6e9ee;--soft:#9aa5b4;--line:#323b48;
--band:#1c222c;--link:#8db4ff;--bar:#3d9be0;--kept:#2fc98a;--drop:#e8661c;--drop-ink:#ffa266}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1060px;padding:32px 28px 64px;background:var(--ground);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{margin:0;font-size:36px;line-height:1.2;overflow-wrap:anywhere}h1 span{color:var(--soft);font-weight:400}
h2{margin:44px 0 12px;padding-top:14px;border-top:1px solid var(--line);font-size:21px}
h3{margin:22px 0 8px;font-size:15px;color:var(--soft)}
p{margin:8px 0;max-width:75ch}
.kicker{margin:0;color:var(--soft);letter-spacing:.08em;text-transform:uppercase;font-size:12px}
.lead{font-size:18px}.notes{color:var(--soft);white-space:pre-line}.soft,.none,.open{color:var(--soft)}
a{color:var(--link);overflow-wrap:anywhere}
code{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:20px 0}
.tiles div{padding:12px 14px;border-radius:8px;background:var(--band)}
.whole{white-space:nowrap}
.tiles b{display:block;font-size:17px;line-height:1.3}.tiles span{color:var(--soft);font-size:13px}
nav ul{display:flex;flex-wrap:wrap;gap:4px 16px;margin:22px 0 0;padding:0;list-style:none;font-size:14px}
.wide{overflow-x:auto}
table{border-collapse:collapse;max-width:100%;font-size:13.5px}
th,td{padding:6px 20px 6px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:500;vertical-align:bottom}
td.n,th.n,span.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}th.n{white-space:normal}
tfoot td{font-weight:600;border-bottom:0}
.identity th{vertical-align:top;white-space:nowrap}
summary{cursor:pointer;color:var(--link)}
figure{margin:10px 0 18px;overflow-x:auto}.picture{display:block;max-width:100%;height:auto}
li{margin:4px 0;max-width:85ch}
@media print{body{max-width:none;padding:0;font-size:11px}nav{display:none}h2{margin-top:22px}
h2,h3{break-after:avoid}tr,figure,.tiles{break-inside:avoid}.wide,figure{overflow:visible}
table{font-size:10px}code{font-size:9.5px}a{color:inherit}.tiles div{border:1px solid var(--line)}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
