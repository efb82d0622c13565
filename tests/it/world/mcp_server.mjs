// An MCP server over stdio with one tool, `lookup`: it answers "found WORD", so that a test can see that it was asked.
import { createInterface } from "node:readline";

const tool = {
  name: "lookup",
  description: "Looks a word up",
  inputSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
};

const answers = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "demo", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": (params) => ({ content: [{ type: "text", text: `found ${params.arguments.word}` }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = (answers[method] ?? (() => ({})))(params);
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");
});
