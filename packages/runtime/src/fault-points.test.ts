import { mkdtempSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineFaultPoints, disableFaultPoints, enableFaultPoints, type FaultPointReport } from "@countersign/core";
import { afterEach, expect, test } from "vitest";
import { startService } from "./process.ts";

const faultPoint = defineFaultPoints("try", {
  signUp: ["begun", "done"],
  enrollmentBySignature: [],
  enrollmentByTransaction: [],
  chainChange: [],
  timeLock: [],
  freeze: [],
});
const path = join(mkdtempSync(join(tmpdir(), "countersign-fault-points-")), "controller.sock");
let server: Server | undefined;

/** Starts a controller that passes its reports to `judge`, which answers or does not. */
async function controller(judge: (report: FaultPointReport, socket: Socket) => void): Promise<void> {
  server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.setEncoding("utf8").on("data", (text: string) => {
      for (const line of text.trim().split("\n")) judge(JSON.parse(line) as FaultPointReport, socket);
    });
  });
  await new Promise<void>((resolve) => server?.listen(path, resolve));
}

afterEach(() => {
  disableFaultPoints();
  server?.close();
});

test("without a controller a point does not wait", () => {
  expect(faultPoint("begun")).toBeUndefined();
});

test("the controller receives point and process, and lets the process continue", async () => {
  const seen: FaultPointReport[] = [];
  await controller((report, socket) => {
    seen.push(report);
    socket.write(`${report.id}\n`);
  });
  enableFaultPoints(path);
  await Promise.all([faultPoint("begun"), faultPoint("done")]);
  expect(seen.map(({ point, pid }) => ({ point, pid }))).toEqual([
    { point: "try/begun", pid: process.pid },
    { point: "try/done", pid: process.pid },
  ]);
});

test("a controller that goes away does not block the process", async () => {
  await controller((_, socket) => socket.destroy());
  enableFaultPoints(path);
  await faultPoint("begun");
  server?.close();
  await faultPoint("done");
});

test("production does not start with a controller", async () => {
  const env = { CS_FAULT_POINTS: path, NODE_ENV: "production" };
  await expect(startService({ name: "try", env, start: async () => undefined })).rejects.toThrow("CS_FAULT_POINTS");
});
