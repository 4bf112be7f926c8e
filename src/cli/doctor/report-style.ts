/** The style of the report: one sheet, light and dark, and for paper. */
export const reportStyle = `
:root { color-scheme: light dark; --ink: #1f2a2c; --muted: #5c6668; --paper: #fffefa; --ground: #f6f3ea; --line: #cfc8b6; --bad: #a62c10; --bad-ground: #fbe0d8; --warn: #7a4e00; --warn-ground: #f6e4bb; --info: #145a60; --info-ground: #d8e7e3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6df; --muted: #a9b0b0; --paper: #1f2627; --ground: #161b1c; --line: #455052; --bad: #ff9a80; --bad-ground: #51221a; --warn: #f0c060; --warn-ground: #46360f; --info: #8fd0cf; --info-ground: #1d3c3e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 0; }
header p, figcaption { color: var(--muted); margin: .25rem 0 0; }
figure { margin: 0; padding: 1rem; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
svg { display: block; width: 100%; min-width: 40rem; font: 12px ui-monospace, monospace; }
svg text { fill: var(--ink); } svg .head { fill: var(--muted); font-family: system-ui, sans-serif; }
.box rect { fill: var(--ground); stroke: var(--line); } .box.concerned rect { stroke: var(--bad); }
.box.unreached rect { fill: var(--bad-ground); stroke: var(--bad); stroke-dasharray: 4 3; }
.way { fill: none; stroke: var(--line); stroke-width: 1.5; } .way.wrong { stroke: var(--bad); stroke-width: 2.5; }
.group { background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: 1rem; margin: 0 0 1rem; break-inside: avoid; }
.group p { margin: .4rem 0; } .group ul { margin: .5rem 0; padding-left: 1.2rem; }
.mark { font-size: .8rem; padding: .1rem .5rem; border-radius: 1rem; background: var(--info-ground); color: var(--info); }
.mark.critical { background: var(--bad-ground); color: var(--bad); } .mark.warning { background: var(--warn-ground); color: var(--warn); }
.count, .hurt { color: var(--muted); } .hurt { font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .8rem; margin: .2rem 0 .6rem; font-size: .9rem; } dt { color: var(--muted); } dd { margin: 0; }
.scroll { overflow-x: auto; } table { overflow-wrap: normal; border-collapse: collapse; width: 100%; background: var(--paper); font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border: 1px solid var(--line); vertical-align: top; } td { font-family: ui-monospace, monospace; }
td.differs, td.missing, td.conflict { background: var(--bad-ground); color: var(--bad); font-weight: 600; }
td.truth { font-weight: 600; } td.unseen, td.empty { color: var(--muted); }
@media print { :root { --ink: #000; --muted: #444; --paper: #fff; --ground: #fff; --line: #999; --bad: #a62c10; --bad-ground: #fbe0d8; --warn: #7a4e00; --warn-ground: #f6e4bb; --info: #145a60; --info-ground: #d8e7e3; } body { max-width: none; padding: 0; font-size: 11px; } svg { min-width: 0; } h2 { break-after: avoid; } .mark, td { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`;
