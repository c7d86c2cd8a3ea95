package catalog

import (
	"context"

	"hob/config"
)

// AskWindows asks the servers of the models in use for their windows, as Run does.
func (m *Models) AskWindows(ctx context.Context) {
	m.Registry.askFor(ctx, m.Lineup().Names, func(config.Model) bool { return true })
}
