import type { Action } from "@countersign/react";
import { Button, type ButtonProps } from "./button.tsx";

interface ActionButtonProps extends Omit<ButtonProps, "onPress" | "isPending"> {
  // biome-ignore lint/suspicious/noExplicitAny: the outcome is the screen's
  action: Pick<Action<[], any>, "run" | "isPending">;
}

/** A button that runs an action, and shows that it runs. */
export const ActionButton = ({ action, ...props }: ActionButtonProps) => (
  <Button {...props} onPress={() => void action.run()} isPending={action.isPending} />
);
