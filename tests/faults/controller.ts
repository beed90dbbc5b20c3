import { createServer, type Socket } from "node:net";
import type { FaultPointReport } from "@countersign/core";
import { isHeldAt, placesAt } from "./fault-points.ts";

/**
 * The place that a process reached, or another fault point. While `judge` runs, the process waits; killing it
 * meanwhile is fine.
 */
export type Judge = (reached: { point: string; pid: number }) => Promise<void> | void;

export interface Controller {
  /** For CS_FAULT_POINTS. */
  path: string;
  /** Decides what happens at a fault point; without a judge every process continues. */
  judge: Judge | undefined;
  close(): void;
}

/** The other side of the services' fault points. */
export async function startController(path: string): Promise<Controller> {
  const sockets = new Set<Socket>();
  const controller: Controller = {
    path,
    judge: undefined,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  const handleLine = async (socket: Socket, line: string) => {
    const { id, point, pid } = JSON.parse(line) as FaultPointReport;
    for (const place of placesAt(point)) await controller.judge?.({ point: place, pid });
    if (!socket.destroyed) socket.write(isHeldAt(point) ? `${id}\n` : `${id} free\n`);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    let rest = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) void handleLine(socket, line);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return controller;
}
