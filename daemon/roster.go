package daemon

import (
	"context"

	"hob/daemon/api"
	"hob/daemon/llm/catalog"
	"hob/daemon/transcribe"
)

// roster answers what hob knows about models.
type roster struct {
	models        *catalog.Models
	transcription transcribe.Service
	account       *account
	use           func(ctx context.Context, name string) (string, error)
	hide          func(string) string // takes secrets out
}

// show is the roster, without asking anybody.
func (d roster) show(ctx context.Context) (api.Roster, error) { return d.models.Roster(ctx) }

// servers asks every server of the roster, and every one that is found on this machine, what models it has.
func (d roster) servers(ctx context.Context) ([]api.ModelServer, error) { return d.models.Servers(ctx) }

// hears asks the endpoint of [voice] whether it would listen to voice notes.
func (d roster) hears(ctx context.Context) api.Transcription {
	s := d.transcription.Look(ctx)
	s.BaseURL, s.Error = d.hide(s.BaseURL), d.hide(s.Error)
	return api.Transcription(s)
}

// try puts a model to a small trial.
func (d roster) try(ctx context.Context, name string) (catalog.Report, error) {
	return d.models.Try(ctx, name)
}
