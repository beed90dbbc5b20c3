import {
  acceptChild,
  type ClientNetwork,
  type CountersignClient,
  offerToParent,
  removeParent,
} from "@countersign/client";
import type { TransactionHooks } from "@countersign/react";

/** The child offers the link … */
export const offer = (
  child: CountersignClient,
  { network, parent }: { network: ClientNetwork; parent: string },
  hooks: TransactionHooks,
) => offerToParent(child, { network, parent, ...hooks });

/** … the parent accepts it … */
export const accept = (
  parent: CountersignClient,
  { network, child }: { network: ClientNetwork; child: string },
  hooks: TransactionHooks,
) => acceptChild(parent, { network, child, ...hooks });

/** … and the service reads from the chain that it is so. */
export const report = (child: CountersignClient) => child.linkParent();

export const remove = (
  child: CountersignClient,
  { network, parent }: { network: ClientNetwork; parent: string },
  hooks: TransactionHooks,
) => removeParent(child, { network, parent, ...hooks });
