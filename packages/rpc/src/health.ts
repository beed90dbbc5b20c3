import type { Server } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";

/** The grpc.health.v1.Health service of a server. */
export interface Health {
  addTo(server: Pick<Server, "addService">): void;
  /** Sets whether these services, and the server as a whole, are serving. */
  set(services: readonly string[], serving: boolean): void;
}

export function createHealth(): Health {
  const implementation = new HealthImplementation({ "": "NOT_SERVING" });
  return {
    addTo: (server) => implementation.addToServer(server as Parameters<HealthImplementation["addToServer"]>[0]),
    set: (services, serving) => {
      for (const name of ["", ...services]) implementation.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
    },
  };
}
