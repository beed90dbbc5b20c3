import { ToggleButton, ToggleButtonGroup } from "react-aria-components";

interface ChoiceProps<Value extends string> {
  label: string;
  options: Readonly<Record<Value, string>>;
  value: Value;
  onChange: (value: Value) => void;
  isSmall?: boolean;
}

/** One of a few values, side by side. */
export function Choice<Value extends string>({ label, options, value, onChange, isSmall }: ChoiceProps<Value>) {
  return (
    <ToggleButtonGroup
      className={`choice${isSmall ? " small" : ""}`}
      aria-label={label}
      disallowEmptySelection
      selectionMode="single"
      selectedKeys={[value]}
      onSelectionChange={(keys) => onChange([...keys][0] as Value)}
    >
      {Object.entries<string>(options).map(([key, text]) => (
        <ToggleButton key={key} id={key}>
          {text}
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  );
}
