import Foundation

/// Bytes that a device signs or sends.
public typealias Bytes = [UInt8]

/// Thrown for input that has another form than the service's.
public struct FormatError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension Bytes {
    /// The bytes in lower-case hex.
    public var hex: String {
        map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Reads hex, with or without `0x`.
    public init(hex: String) throws {
        let digits = Array<UInt8>((hex.hasPrefix("0x") ? String(hex.dropFirst(2)) : hex).utf8)
        guard digits.count % 2 == 0 else { throw FormatError("not hex") }
        func value(_ digit: UInt8) throws -> UInt8 {
            switch digit {
            case 0x30...0x39: return digit - 0x30
            case 0x41...0x46: return digit - 0x41 + 10
            case 0x61...0x66: return digit - 0x61 + 10
            default: throw FormatError("not hex")
            }
        }
        self = try stride(from: 0, to: digits.count, by: 2).map { try value(digits[$0]) << 4 | value(digits[$0 + 1]) }
    }

    /// The text of UTF-8; nil for anything else.
    var utf8Text: String? {
        let text = String(decoding: self, as: UTF8.self)
        return Array<UInt8>(text.utf8) == self ? text : nil
    }
}

/// Returns whether two texts have the same bytes. `==` of Swift takes canonically equivalent texts for the
/// same, such as a semicolon and the Greek question mark; the chain does not.
func sameBytes(_ a: String, _ b: String) -> Bool {
    a.utf8.elementsEqual(b.utf8)
}

/// Returns a domain tag of Flow: its text in 32 bytes, with zeros at the end.
func domainTag(_ text: String) -> Bytes {
    let bytes = Bytes(text.utf8)
    return bytes + Bytes(repeating: 0, count: 32 - bytes.count)
}
