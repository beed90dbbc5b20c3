/// A value in JSON-Cadence. `encoded` is its only accepted form: type, value, no white space.
public struct CadenceValue: Sendable {
    private let type: String
    private let json: String

    public var encoded: String { "{\"type\":\(quoted(type)),\"value\":\(json)}" }

    public static func string(_ value: String) -> Self { Self(type: "String", json: quoted(value)) }

    public static func bool(_ value: Bool) -> Self { Self(type: "Bool", json: value ? "true" : "false") }

    /// `address`: 16 hex digits, with or without `0x`.
    public static func address(_ address: String) -> Self {
        Self(type: "Address", json: quoted(address.hasPrefix("0x") ? address : "0x\(address)"))
    }

    /// Any type whose JSON form is a text, such as `Int`, or `UFix64` with eight digits after the point.
    public static func number(_ type: String, _ value: String) -> Self { Self(type: type, json: quoted(value)) }

    public static func array(_ values: [CadenceValue]) -> Self {
        Self(type: "Array", json: "[\(values.map(\.encoded).joined(separator: ","))]")
    }
}

/// Returns a text in JSON, escaped as JSON.stringify of ECMAScript does: texts are compared byte for byte.
private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\u{8}": result += "\\b"
        case "\u{c}": result += "\\f"
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        case "\u{0}"..<" ": result += "\\u" + String(scalar.value + 0x10000, radix: 16).dropFirst()
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}
