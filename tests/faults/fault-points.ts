import type { FaultPoints } from "@countersign/core";
import { GATEWAY_FAULT_POINTS } from "../../gateway/src/fault-points.ts";
import { OUTBOX_FAULT_POINTS } from "../../packages/events/src/fault-points.ts";
import { ACCOUNT_FAULT_POINTS } from "../../services/account/src/fault-points.ts";
import { AUTH_FAULT_POINTS } from "../../services/auth/src/fault-points.ts";
import { DEVICE_FAULT_POINTS } from "../../services/device/src/fault-points.ts";
import { KEY_FAULT_POINTS } from "../../services/key/src/fault-points.ts";
import { SIGNER_FAULT_POINTS } from "../../services/signer/src/fault-points.ts";

/** What a person does. */
export type Way = keyof FaultPoints & string;
export type EnrollmentWay = "enrollmentBySignature" | "enrollmentByTransaction";

const lists: Record<string, FaultPoints> = {
  gateway: GATEWAY_FAULT_POINTS,
  auth: AUTH_FAULT_POINTS,
  account: ACCOUNT_FAULT_POINTS,
  signer: SIGNER_FAULT_POINTS,
  key: KEY_FAULT_POINTS,
  device: DEVICE_FAULT_POINTS,
  outbox: OUTBOX_FAULT_POINTS,
};

/** Returns every fault point of every program on a way, as `program/point`. */
export const faultPointsOf = (way: Way): string[] =>
  Object.entries(lists).flatMap(([program, points]) => (points[way] ?? []).map((point) => `${program}/${point}`));

const settlement = new Set(faultPointsOf("settlement"));

/** Budgets are settled in the background after every way with costs; no other way has these fault points. */
export const isSettlement = (point: string): boolean => settlement.has(point);
