import type { ReactNode } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components";

export interface ButtonProps extends Omit<AriaButtonProps, "children" | "className"> {
  children: ReactNode;
  kind?: "primary" | "plain" | "danger" | "quiet";
}

/** A button; while `isPending` it keeps the focus: `useAction` ignores a second press. */
export const Button = ({ children, kind = "primary", isPending = false, ...props }: ButtonProps) => (
  <AriaButton {...props} className={`button ${kind}`}>
    {isPending && <span className="spinner" aria-hidden />}
    {children}
  </AriaButton>
);
