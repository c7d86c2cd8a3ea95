package channels

import "fmt"

// Listed is a list of ids in a section of the config.
type Listed struct {
	Key  string            // in the section
	IDs  []string          //
	OK   func(string) bool // whether it can be an id of this kind
	Want string            // what such an id looks like, and where it is shown
}

// CheckListed looks through the lists of a section. Its error names the key, and the first id that cannot be one or is listed twice.
func CheckListed(lists ...Listed) error {
	seen := map[string]string{}
	for _, list := range lists {
		for _, id := range list.IDs {
			if !list.OK(id) {
				return fmt.Errorf("%s: %q cannot be one; %s", list.Key, id, list.Want)
			}
			if other, twice := seen[id]; twice {
				return fmt.Errorf("%s: %s is there twice, also in %s; take one out", list.Key, id, other)
			}
			seen[id] = list.Key
		}
	}
	return nil
}
