// Rents a GPU as clients of the earlier service do: plain fetch, asking again until it is so. Node 18 or newer.
// OSTLER_URL says where Ostler is, OSTLER_KEY is sent if it is set, WEBHOOK_URL is called back if it is set.

const server = process.env.OSTLER_URL ?? "http://127.0.0.1:3000";
const pauseMs = Number(process.env.POLL_SECONDS ?? 5) * 1000;
const patienceMs = 30 * 60 * 1000;
const webhook = process.env.WEBHOOK_URL ? { webhookUrl: process.env.WEBHOOK_URL } : {};
const healthCheck = {
  healthCheckConfig: { timeoutMs: 10000, retryAttempts: 3, retryDelayMs: 500, maxWaitTimeMs: 300000, targetPort: 8888 },
  targetPort: 8888,
};

async function call(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  if (process.env.OSTLER_KEY) headers.Authorization = `Bearer ${process.env.OSTLER_KEY}`;
  const response = await fetch(server + path, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function until(id, status) {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; ) {
    const found = await call("GET", `/api/instances/${id}`);
    if (found.status === status) return found;
    if (found.status === "failed") throw new Error(`failed: ${JSON.stringify(found.error)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`${id} is not ${status} after ${patienceMs} ms`);
}

function show({ connectionDetails, portMappings }) {
  console.log(`ssh ${connectionDetails.ssh}`);
  for (const { port, type, endpoint } of portMappings) console.log(`port ${port} ${type} ${endpoint}`);
}

const name = process.argv[2] ?? "example-node";
const { instanceId: id } = await call("POST", "/api/instances", {
  name,
  productName: "RTX 4090 24GB",
  templateId: 102,
  gpuNum: 1,
  rootfsSize: 60,
  region: "CN-HK-01",
  ...webhook,
});
console.log(`created ${id}`);
show(await until(id, "running"));
await call("POST", `/api/instances/${id}/stop`, {});
await until(id, "exited");
await call("POST", `/api/instances/${id}/start`, { ...healthCheck, ...webhook });
await until(id, "ready");
console.log("ready, started by id");
await call("POST", "/api/instances/stop", { instanceName: name });
await until(id, "exited");
await call("POST", "/api/instances/start", { instanceName: name, ...healthCheck, ...webhook });
show(await until(id, "ready"));
console.log("ready, started by name");
await call("POST", "/api/instances/delete", { instanceName: name });
await until(id, "terminated");
console.log("terminated");
