// One event stream for all tabs of a browser: HTTP/1.1 allows six connections a host, and each tab must not take one.
"use strict";
const ports = new Set();
let source = null, stream = "", poll = "", wait = 1000, last = null, timer = 0, account = "", ping = 20, silence = 0;
const tell = (m) => { for (const p of ports) p.postMessage(m); };
// A connection can die without a word: a stream that misses two pings counts as broken.
const listen = () => { clearTimeout(silence); silence = setTimeout(() => source?.onerror(), ping * 2000 + 1000); };
const open = () => {
  timer = 0;
  if (source || ports.size === 0) return;
  source = new EventSource(stream);
  listen();
  source.onopen = () => { wait = 1000; listen(); tell({ kind: "open" }); };
  source.addEventListener("change", (e) => { last = { kind: "message", message: JSON.parse(e.data) }; ping = last.message.ping || ping; listen(); tell(last); });
  source.onerror = async () => {
    clearTimeout(silence);
    source.close();
    source = null;
    tell({ kind: "lost" });
    // A refused stream looks like a broken one: ask why.
    try { if ((await fetch(poll, { headers: { Accept: "application/json" } })).status === 401) { tell({ kind: "ended" }); ports.clear(); return; } } catch { /* the server is away */ }
    if (!timer) timer = setTimeout(open, wait + Math.random() * 500);
    wait = Math.min(wait * 2, 15000);
  };
};
const shut = () => { source?.close(); source = null; clearTimeout(timer); clearTimeout(silence); timer = 0; wait = 1000; };
onconnect = (e) => {
  const port = e.ports[0];
  port.onmessage = ({ data }) => {
    if (data.kind === "hello") {
      // Another login in this browser: the stream must be that one's.
      if (account && account !== data.account) { shut(); last = null; }
      ({ stream, poll, account } = data);
      ports.add(port);
      if (source?.readyState === EventSource.OPEN && last) port.postMessage({ kind: "message", message: { ...last.message, t: [], q: false } });
      open();
    } else if (data.kind === "bye") {
      ports.delete(port);
      if (ports.size === 0) shut();
    }
  };
  port.start();
};
