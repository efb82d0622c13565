// agentctl's MCP client for Pi: the tools of the servers in SERVERS become Pi's, named mcp__SERVER__TOOL.
//
// Pi has no MCP of its own. This file is written for one run, with SERVERS put before it, and loaded with `-e`. A server
// that does not answer is told on stderr and left out; the run goes on without it.
import { spawn } from "node:child_process";

const VERSION = "2025-06-18";
const START_MS = 30_000;
const PAGES = 100;
const NAME_LENGTH = 64;

// A server that is a child process and speaks lines of JSON.
function overStdio(server, receive, lost) {
  const env = { ...process.env, ...server.env };
  const child = spawn(server.command, server.args, { env, stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
  child.on("error", lost);
  child.on("exit", (code, signal) => lost(new Error(`the server ended (${signal ?? code})`)));
  child.stdin.on("error", lost);
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) receiveText(line, receive);
  });
  return {
    send: async (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    close: () => {
      child.stdin.end();
      child.kill();
      setTimeout(() => child.kill("SIGKILL"), 1000).unref();
    },
  };
}

// A server at a URL that answers each message with JSON or with a stream of events.
function overHttp(server, receive) {
  const session = {};
  return {
    send: async (message) => {
      const response = await fetch(server.url, {
        method: "POST",
        headers: {
          ...server.headers,
          ...session,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(message),
      });
      const id = response.headers.get("mcp-session-id");
      if (id) session["mcp-session-id"] = id;
      if (message.method !== "initialize") session["mcp-protocol-version"] = VERSION;
      if (!response.ok) throw new Error(`HTTP ${response.status} ${response.statusText}`.trim());
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
        await receiveEvents(response.body, receive);
      } else {
        receiveText(await response.text(), receive);
      }
    },
    close: () => {},
    answersAtOnce: true,
  };
}

async function receiveEvents(body, receive) {
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).replaceAll("\r", "").split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data:"));
      receiveText(data.map((line) => line.slice(5)).join("\n"), receive);
    }
  }
}

// What is no JSON is not for us: servers print greetings and logs where they should not.
function receiveText(text, receive) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return;
  }
  for (const one of [message].flat()) if (one && typeof one === "object") receive(one);
}

function connect(server) {
  const pending = new Map();
  let last = 0;
  let gone;
  const lost = (error) => {
    gone ??= error;
    for (const { reject } of [...pending.values()]) reject(error);
  };
  const receive = (message) => {
    if (message.method === undefined) {
      const waiting = pending.get(message.id);
      if (message.error) waiting?.reject(new Error(message.error.message ?? "the server refused"));
      else waiting?.resolve(message.result ?? {});
    } else if (message.id !== undefined) {
      const answer =
        message.method === "ping" ? { result: {} } : { error: { code: -32601, message: "not supported by this client" } };
      tell({ id: message.id, ...answer });
    }
  };
  const transport = server.url ? overHttp(server, receive) : overStdio(server, receive, lost);
  const tell = (message) => transport.send({ jsonrpc: "2.0", ...message }).catch(() => {});
  const ask = (method, params, { signal, within } = {}) =>
    new Promise((resolve, reject) => {
      if (gone) return reject(gone);
      const id = ++last;
      let timer;
      const end = (settle, value) => {
        pending.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        settle(value);
      };
      const fail = (error) => end(reject, error);
      const cancel = () => {
        tell({ method: "notifications/cancelled", params: { requestId: id } });
        fail(new Error("cancelled"));
      };
      if (within) timer = setTimeout(() => fail(new Error(`no answer within ${within / 1000} s`)), within);
      signal?.addEventListener("abort", cancel, { once: true });
      pending.set(id, { resolve: (result) => end(resolve, result), reject: fail });
      const sent = transport.send({ jsonrpc: "2.0", id, method, params });
      sent.then(() => transport.answersAtOnce && fail(new Error("the server gave no answer")), fail);
    });
  return { ask, tell, close: transport.close };
}

async function toolsOf(client) {
  const within = START_MS;
  const clientInfo = { name: "agentctl", version: "1" };
  await client.ask("initialize", { protocolVersion: VERSION, capabilities: {}, clientInfo }, { within });
  await client.tell({ method: "notifications/initialized" });
  const tools = [];
  let cursor;
  for (let page = 0; page < PAGES; page++) {
    const answer = await client.ask("tools/list", cursor ? { cursor } : {}, { within });
    tools.push(...(answer.tools ?? []));
    cursor = answer.nextCursor;
    if (!cursor) break;
  }
  return tools;
}

async function start(pi, server) {
  const client = connect(server);
  pi.on("session_shutdown", () => client.close());
  try {
    return { client, tools: await toolsOf(client) };
  } catch (error) {
    client.close();
    throw error;
  }
}

// Pi knows blocks of text and of images.
function block(part) {
  if (part.type === "text") return { type: "text", text: String(part.text) };
  if (part.type === "image") return { type: "image", data: part.data, mimeType: part.mimeType };
  return { type: "text", text: part.resource?.text ?? JSON.stringify(part) };
}

async function call(client, name, args, signal) {
  const answer = await client.ask("tools/call", { name, arguments: args ?? {} }, { signal });
  const content = (answer.content ?? []).map(block);
  if (content.length === 0) content.push({ type: "text", text: JSON.stringify(answer.structuredContent ?? null) });
  if (answer.isError) throw new Error(content.map((part) => part.text ?? "").join("\n") || "the tool failed");
  return { content, details: {} };
}

export default async function (pi) {
  const taken = new Set();
  const nameOf = (server, tool) => {
    const whole = `mcp__${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, "_");
    let name = whole.slice(0, NAME_LENGTH);
    for (let n = 2; taken.has(name); n++) name = `${whole.slice(0, NAME_LENGTH - 4)}_${n}`;
    taken.add(name);
    return name;
  };
  const started = await Promise.allSettled(SERVERS.map((server) => start(pi, server)));
  for (const [index, { value, reason }] of started.entries()) {
    const server = SERVERS[index].name;
    if (!value) {
      console.error(`Warning: the MCP server ${server} is left out: ${reason?.message}`);
      continue;
    }
    for (const tool of value.tools) {
      pi.registerTool({
        name: nameOf(server, tool.name),
        label: tool.title ?? tool.name,
        description: tool.description ?? tool.name,
        parameters: tool.inputSchema ?? { type: "object", properties: {} },
        execute: (_id, args, signal) => call(value.client, tool.name, args, signal),
      });
    }
  }
}
