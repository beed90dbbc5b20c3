import { AppError } from "@countersign/core";
import { expect, it, vi } from "vitest";
import { requestsList, requestsReject } from "./requests.ts";

const failing = (reason: "Unavailable" | "AdminRequestNotFound") => async () => {
  throw new AppError(reason);
};
const services = vi.hoisted(() => ({ auth: {}, signer: {} }));
vi.mock("../services.ts", () => ({
  DECIDING: ["auth", "signer"],
  SERVICES: ["auth", "signer"],
  withServices: (_env: unknown, work: (each: unknown) => unknown) => work(services),
}));

const lines: string[] = [];
const context = { env: {}, print: (line: string) => void lines.push(line) };
const reject = () => requestsReject.run({ ...context, args: ["id", "--reason", "a ticket"] });
const rejecting = async function* () {
  yield { actionId: "of-the-signer" };
};

it("rejects a request of the signer while auth does not answer", async () => {
  Object.assign(services.auth, { decideRequest: failing("Unavailable") });
  Object.assign(services.signer, { decideRequest: rejecting });
  await reject();
  expect(lines.join()).toContain("rejected");
});

it("says that a service does not answer where the other one has no such request", async () => {
  Object.assign(services.auth, { decideRequest: failing("Unavailable") });
  // biome-ignore lint/correctness/useYield: it fails before.
  const decideRequest = async function* () {
    throw new AppError("AdminRequestNotFound");
  };
  Object.assign(services.signer, { decideRequest });
  await expect(reject()).rejects.toMatchObject({ reason: "Unavailable" });
  Object.assign(services.auth, { decideRequest: failing("AdminRequestNotFound") });
  await expect(reject()).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
});

it("prints no empty list where a service does not answer", async () => {
  lines.length = 0;
  Object.assign(services.auth, { listRequests: failing("Unavailable") });
  Object.assign(services.signer, { listRequests: async () => ({ requests: [] }) });
  const listing = requestsList.run({ ...context, args: ["--reason", "a ticket", "--json"] });
  await expect(listing).rejects.toMatchObject({ reason: "Unavailable" });
  expect(lines).toEqual([]);
});
