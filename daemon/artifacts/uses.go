package artifacts

// idLen is the length of an id: an a and nine more characters.
const idLen = 10

// Uses records which artifacts are named by deleted texts and which by remaining texts.
type Uses struct{ gone, kept map[string]bool }

// NewUses returns empty uses of the artifacts with these ids.
func NewUses(ids []string) Uses {
	u := Uses{make(map[string]bool, len(ids)), make(map[string]bool, len(ids))}
	for _, id := range ids {
		u.gone[id], u.kept[id] = false, false
	}
	return u
}

// Note reads a deleted or a remaining text. Any occurrence of an id counts. In JSON an escape such as \n may directly precede it.
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

// Unneeded returns the ids that only deleted texts have named, in no order.
func (u Uses) Unneeded() []string {
	list := []string{}
	for id, gone := range u.gone {
		if gone && !u.kept[id] {
			list = append(list, id)
		}
	}
	return list
}
