package transcribe

import (
	"context"
	"errors"
	"math"
	"net/http"

	"hob/config"
	"hob/daemon/agent/turn"
	"hob/daemon/modelapi"
)

// Of returns the endpoint of a config, or ErrNone. resolve resolves the reference to its key.
func Of(ctx context.Context, c *config.Snapshot, resolve func(ctx context.Context, name, ref string) (string, error), web *http.Client) (Endpoint, error) {
	v := c.Voice
	switch {
	case c.Off("voice"):
		return Endpoint{}, errors.New("the section [voice] of the config has a mistake (hob config validate)")
	case v.BaseURL == "":
		return Endpoint{}, ErrNone
	}
	key, err := modelapi.Key(ctx, resolve, "voice", v.APIKey)
	server := modelapi.Server{Name: "the endpoint", URL: v.BaseURL, Key: key, Most: maxAnswer, HTTP: web}
	return Endpoint{Server: server, Model: v.Model, Language: v.Language, Timeout: v.Timeout, Price: int64(math.Round(v.Price * 1e6))}, err
}

// Budget records the cost of requests outside of a turn's steps. The store implements it.
type Budget[Charge any] interface {
	// Charge reserves the highest possible cost of a request. It returns turn.ErrBudget if a cap does not allow it.
	Charge(ctx context.Context, source string, most turn.Amount) (Charge, error)
	// Correct replaces the reserved amount by the amount really used.
	Correct(ctx context.Context, c Charge, used turn.Amount) error
}

// Booked returns a Reserve that charges a budget under the name of a source.
func Booked[Charge any](p Budget[Charge], source string) modelapi.Reserve {
	return func(ctx context.Context, most turn.Amount) (func(context.Context, turn.Amount) error, error) {
		c, err := p.Charge(ctx, source, most)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, used turn.Amount) error { return p.Correct(ctx, c, used) }, nil
	}
}
