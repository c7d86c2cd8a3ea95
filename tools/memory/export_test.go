package memory

// HeadOf is the text of a result.
func HeadOf(o SearchOutput) string { return o.text() }
