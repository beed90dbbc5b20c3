import express from "express";
import { announce } from "./announce.ts";

// Floor of account/me: express that answers a constant of the same size, and nothing else.
const answer = {
  account: {
    id: "019a0000-0000-7000-8000-000000000001",
    addresses: [646, 646].map((chainId) => ({
      address: "0x0000000000000000000000000000000000000000",
      profileImageUrl: "http://localhost:9000/picture/00000000-0000-4000-8000-000000000000.svg",
      domainName: "",
      chainName: "flow-emulator",
      chainId,
      chainType: "evm",
    })),
    parent: [],
    createdAt: "2026-11-20T10:00:00.000Z",
    updatedAt: "2026-11-20T10:00:00.000Z",
  },
};

const app = express();
app.disable("x-powered-by");
app.disable("etag");
app.get("/account/v1/me", (_request, response) => void response.json(answer));
const server = app.listen(0, "127.0.0.1", () => announce(server.address()));
