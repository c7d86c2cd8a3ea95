package artifacts

// idLen is the length of an id: an a and nine more characters.
const idLen = 10

// Uses notes which artifacts are named by texts that go away and which by texts that stay.
type Uses struct{ gone, kept map[string]bool }

// NewUses returns the uses of the artifacts with these ids, none so far.
func NewUses(ids []string) Uses {
	u := Uses{make(map[string]bool, len(ids)), make(map[string]bool, len(ids))}
	for _, id := range ids {
		u.gone[id], u.kept[id] = false, false
	}
	return u
}

// Note reads a text that goes away or stays. Any occurrence of an id counts, because a text may be JSON, where an escape such as \n may stand
// directly before it.
func (u Uses) Note(text []byte, goes bool) {
	named := u.kept
	if goes {
		named = u.gone
	}
	for i := 0; i+idLen <= len(text); i++ {
		if text[i] != 'a' {
			continue
		}
		if noted, exists := named[string(text[i:i+idLen])]; exists && !noted {
			named[string(text[i:i+idLen])] = true
		}
	}
}

// Unneeded returns the ids that only texts which go away have named, in no order.
func (u Uses) Unneeded() []string {
	list := []string{}
	for id, gone := range u.gone {
		if gone && !u.kept[id] {
			list = append(list, id)
		}
	}
	return list
}
