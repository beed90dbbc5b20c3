import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { LossKind } from "./rpc-fault.ts";

const UNAVAILABLE = 14;

/** A whole answer of the callee, to be given or not. */
export interface Collected {
  headers: IncomingHttpHeaders;
  body: Buffer;
  trailers: IncomingHttpHeaders | undefined;
  /** HTTP/2 code of a stream that the callee reset. */
  reset: number | undefined;
}

/** The caller never receives it. */
export function lose(stream: ServerHttp2Stream, as: LossKind): void {
  if (stream.destroyed) return;
  if (as === "reset") return void stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  refuse(stream, "the network lost it");
}

/** Answers as a load balancer that has lost the callee. */
function refuse(stream: ServerHttp2Stream, message: string): void {
  const status = { "grpc-status": String(UNAVAILABLE), "grpc-message": encodeURIComponent(message) };
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...status }, { endStream: true });
}

/** Headers that an answer of our own may carry. */
const answerHeaders = ({ ":status": status, ...headers }: IncomingHttpHeaders) => ({
  ...headers,
  ":status": Number(status ?? 200),
});

/** Gives a collected answer to the caller, if that still listens. */
export function give(stream: ServerHttp2Stream, { headers, body, trailers, reset }: Collected): void {
  if (stream.destroyed || stream.closed) return;
  if (reset !== undefined) refuse(stream, "the callee is away");
  else if (!trailers) stream.respond(answerHeaders(headers), { endStream: true });
  else {
    stream.respond(answerHeaders(headers), { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
    stream.end(body);
  }
}

/** Looks at bytes before they go on; false breaks the stream instead. */
export interface Taps {
  request(chunk: Buffer): boolean;
  answer(chunk: Buffer): boolean;
  /** Called when the stream has ended. */
  over(): void;
}

const PASS: Taps = { request: () => true, answer: () => true, over: () => undefined };

/** Joins the caller's stream and the callee's, in both directions. */
export function pipe(inbound: ServerHttp2Stream, outbound: ClientHttp2Stream, taps: Taps = PASS): void {
  let trailers: IncomingHttpHeaders | undefined;
  const breakOff = () => {
    lose(inbound, "reset");
    outbound.close(constants.NGHTTP2_CANCEL);
  };
  inbound.on("data", (chunk: Buffer) => {
    if (outbound.destroyed || outbound.closed) return;
    if (!taps.request(chunk)) breakOff();
    else if (!outbound.write(chunk)) inbound.pause();
  });
  outbound.on("drain", () => inbound.resume());
  inbound.on("end", () => outbound.end());
  outbound.on("response", (headers, flags) => {
    if (inbound.destroyed) return;
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) return inbound.respond(answerHeaders(headers), { endStream: true });
    inbound.respond(answerHeaders(headers), { waitForTrailers: true });
    inbound.on("wantTrailers", () => inbound.sendTrailers({ ...trailers }));
    outbound.on("data", (chunk: Buffer) => {
      if (inbound.destroyed || inbound.closed) return;
      if (!taps.answer(chunk)) breakOff();
      else if (!inbound.write(chunk)) outbound.pause();
    });
    inbound.on("drain", () => outbound.resume());
    outbound.on("end", () => inbound.end());
  });
  outbound.on("trailers", (received) => {
    trailers = received;
  });
  outbound.on("error", () => undefined);
  outbound.on("close", () => {
    if (inbound.destroyed || inbound.writableEnded) return;
    if (inbound.headersSent) inbound.close(outbound.rstCode || constants.NGHTTP2_INTERNAL_ERROR);
    else refuse(inbound, "the callee is away");
  });
  inbound.on("close", () => {
    outbound.close(constants.NGHTTP2_CANCEL);
    taps.over();
  });
}
