package markup

// Rewrite parses Markdown and writes it again, as Split does with each part.
func Rewrite(markdown string) string { return write(read(markdown)) }
