// Receives Ostler's webhooks as receivers of the earlier service do, with nothing but Node.
// WEBHOOK_SECRET is the shared secret, PORT where to listen on 127.0.0.1 (0: any free port).
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const toleranceMs = 5 * 60 * 1000;

function isGenuine(body, headers) {
  const hex = createHmac("sha256", process.env.WEBHOOK_SECRET).update(body).digest("hex");
  const expected = Buffer.from(`sha256=${hex}`);
  const shown = Buffer.from(headers["x-webhook-signature"] ?? "");
  const isFresh = Math.abs(Date.now() - Date.parse(headers["x-webhook-timestamp"])) < toleranceMs;
  return expected.length === shown.length && timingSafeEqual(expected, shown) && isFresh;
}

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  if (!isGenuine(body, request.headers)) {
    response.writeHead(401).end();
    return;
  }
  const { event, instanceId, status, sequence } = JSON.parse(body);
  console.log(JSON.stringify({ event, instanceId, status, sequence }));
  response.writeHead(200).end();
});
server.listen(Number(process.env.PORT ?? 4000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
