package pattern

// Finder is a search for several needles at once.
type Finder = finder

// Finders returns each kind of search for the same needles: by grams, and by vectors where the processor has them.
func Finders(texts []string, fold bool) map[string]Finder {
	var needles []needle
	for _, t := range texts {
		needles = append(needles, newNeedle(t, fold))
	}
	all := map[string]Finder{"grams": newGrams(needles)}
	if vectors() {
		all["teddy"] = newTeddy(needles)
	}
	return all
}

// Find calls the finder.
func Find(f Finder, text []byte, from int) int { return f.find(text, from) }
