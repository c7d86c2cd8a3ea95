package netguard

// ScriptOf names the script of a character.
func ScriptOf(c rune) string { return scriptOf(c) }
