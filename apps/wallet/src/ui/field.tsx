import { FieldError, Input, Label, Text, TextArea, TextField, type TextFieldProps } from "react-aria-components";

interface FieldProps extends Omit<TextFieldProps, "children" | "className"> {
  label: string;
  hint?: string;
  error?: string | undefined;
  rows?: number;
  isCode?: boolean;
}

/** A labelled input with its hint and its error. */
export const Field = ({ label, hint, error, rows, isCode, ...props }: FieldProps) => (
  <TextField {...props} className="field" validationBehavior="aria" isInvalid={error !== undefined}>
    <Label>{label}</Label>
    {rows ? (
      <TextArea rows={rows} spellCheck={false} className={isCode ? "mono" : ""} />
    ) : (
      <Input autoComplete="off" spellCheck={false} className={isCode ? "mono" : ""} />
    )}
    {hint && error === undefined && <Text slot="description">{hint}</Text>}
    <FieldError>{error}</FieldError>
  </TextField>
);
