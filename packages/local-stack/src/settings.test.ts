import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { freePorts } from "./ports.ts";
import { choosePorts, portTable } from "./settings.ts";

it.each(["eighty", "70000", "0"])("names the variable and its value %s where it is no port", async (port) => {
  const choice = choosePorts({ free: false, env: { CS_PORT_GATEWAY: port } });
  await expect(choice).rejects.toThrow(`CS_PORT_GATEWAY is "${port}", which is not a port: give 1 to 65535.`);
});

it("names a variable that is of no port, and those there are", async () => {
  const choice = choosePorts({ free: false, env: { CS_PORT_GATWAY: "8081" } });
  await expect(choice).rejects.toThrow(/^CS_PORT_GATWAY is no port of the stack: .*CS_PORT_GATEWAY, .*CS_PORT_NATS/);
});

it("names each busy port with its variable, and says once what to do", async () => {
  const variables = Object.values(portTable).map(({ variable }) => variable);
  const ports = await freePorts(variables.length);
  const env = Object.fromEntries(variables.map((variable, index) => [variable, String(ports[index])]));
  const busy = [env.CS_PORT_GATEWAY, env.CS_PORT_NATS].map((port) => createServer().listen(Number(port), "127.0.0.1"));
  await Promise.all(busy.map((server) => once(server, "listening")));
  try {
    await expect(choosePorts({ free: false, env })).rejects.toThrow(
      [
        `port ${env.CS_PORT_GATEWAY} is busy, and the gateway (HTTP) needs it (CS_PORT_GATEWAY).`,
        `port ${env.CS_PORT_NATS} is busy, and NATS needs it (CS_PORT_NATS).`,
        "stop the program that has it, set the variable to another port, or start beside it: " +
          "npm start -- --free-ports --state-dir <folder>",
      ].join("\ncountersign: "),
    );
  } finally {
    for (const server of busy) server.close();
  }
});
