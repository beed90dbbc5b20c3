package countersign.client

/** A value in JSON-Cadence. `encode` returns its only accepted form: type, value, no white space. */
class CadenceValue private constructor(private val type: String, private val json: String) {
    fun encode(): String = """{"type":${quoted(type)},"value":$json}"""

    companion object {
        fun string(value: String) = CadenceValue("String", quoted(value))

        fun bool(value: Boolean) = CadenceValue("Bool", value.toString())

        /** `address`: 16 hex digits, with or without `0x`. */
        fun address(address: String) = CadenceValue("Address", quoted("0x${address.removePrefix("0x")}"))

        /**
         * Any type whose JSON form is a text, such as `Int` or `UFix64` with eight digits after the point.
         */
        fun number(type: String, value: String) = CadenceValue(type, quoted(value))

        fun array(values: List<CadenceValue>) = CadenceValue("Array", values.joinToString(",", "[", "]") { it.encode() })
    }
}

/** Returns a text in JSON, escaped as JSON.stringify of ECMAScript does: texts are compared byte for byte. */
private fun quoted(text: String): String = buildString {
    append('"')
    for (character in text) {
        when (character) {
            '"' -> append("\\\"")
            '\\' -> append("\\\\")
            '\b' -> append("\\b")
            '\u000c' -> append("\\f")
            '\n' -> append("\\n")
            '\r' -> append("\\r")
            '\t' -> append("\\t")
            else -> if (character < ' ') append("\\u%04x".format(character.code)) else append(character)
        }
    }
    append('"')
}
