package channels

import (
	"fmt"
	"slices"
	"strings"
)

// Build makes the channel of one config section. name is the section's name; kind is its kind, by default the
// name; decode fills the adapter's own struct strictly. The errors are for the owner: one sentence and a
// hint.
func Build(kinds []Kind, name, kind string, env Env, decode func(any) error) (Channel, error) {
	if slices.Contains([]string{"api", "cli", "cron", "none", "owner"}, name) {
		return nil, fmt.Errorf("channels.%s: hob uses the name %s itself; choose another one", name, name)
	}
	known := make([]string, 0, len(kinds))
	for _, k := range kinds {
		if k.Name != kind {
			known = append(known, k.Name)
			continue
		}
		env.Name = name
		ch, err := k.New(env, decode)
		if err != nil {
			return nil, fmt.Errorf("channels.%s: %w", name, err)
		}
		return ch, nil
	}
	return nil, fmt.Errorf("channels.%s: there is no kind of channel named %q; set kind to one of: %s", name, kind, strings.Join(known, ", "))
}
