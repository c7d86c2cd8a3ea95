package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"hob/config"
	"hob/daemon/agent/turn"
	"hob/daemon/modelapi"
)

// ErrNone reports that the config names no server for embeddings.
var ErrNone = errors.New("no server for embeddings is set ([memory.embeddings] in the config)")

// Pauses after failures, each twice as long as the one before.
const (
	firstPause = 30 * time.Second
	mostPause  = 15 * time.Minute
)

// Of returns the endpoint of a config, or ErrNone. resolve resolves the reference to its key.
func Of(ctx context.Context, c *config.Snapshot, resolve func(ctx context.Context, name, ref string) (string, error), web *http.Client) (Endpoint, error) {
	v := c.Memory.Embeddings
	switch {
	case c.Off("memory.embeddings"):
		return Endpoint{}, errors.New("the section [memory.embeddings] of the config has a mistake (hob config validate)")
	case v.BaseURL == "":
		return Endpoint{}, ErrNone
	}
	key, err := modelapi.Key(ctx, resolve, "memory.embeddings", v.APIKey)
	server := modelapi.Server{Name: "the embedding server", URL: v.BaseURL, Key: key, Most: maxAnswer, HTTP: web}
	return Endpoint{Server: server, Model: v.Model, Dimensions: v.Dimensions, Timeout: v.Timeout, Price: int64(math.Round(v.Price * 1e6))}, err
}

// Reserve reserves the highest possible cost of a request.
type Reserve = modelapi.Reserve

// Service embeds texts with the endpoint of the config. It is safe for concurrent use.
type Service struct {
	Endpoint func(ctx context.Context) (Endpoint, error) // the one of the config at this moment; ErrNone: there is none
	Reserve  Reserve                                     // nil: nothing is reserved
	Now      func() time.Time

	mu     sync.Mutex
	space  string // the endpoint that failed last
	fault  error
	failed int // times in a row
	until  time.Time
}

// Space names the space of the vectors, "" if no server is set. An error says why there is no server although one is set.
func (s *Service) Space(ctx context.Context) (string, error) {
	e, err := s.Endpoint(ctx)
	if errors.Is(err, ErrNone) {
		return "", nil
	}
	return e.Space(), err
}

// Fault returns the last failure, nil after a success.
func (s *Service) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// Embed returns the vectors of at most MaxTexts texts, of length 1 and in the order of the texts. After a failure it fails at once for a
// while, unless the config has changed.
func (s *Service) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e, err := s.Endpoint(ctx)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	if err := s.paused(e.Space()); err != nil {
		return nil, err
	}
	list, err := s.paid(ctx, e, texts)
	// The caller's own end says nothing about the server.
	if err == nil || !errors.Is(err, context.Canceled) {
		s.note(e.Space(), err)
	}
	return list, err
}

// paused returns the failure that the endpoint is paused for.
func (s *Service) paused(space string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.space == space && s.fault != nil && s.Now().Before(s.until) {
		return s.fault
	}
	return nil
}

// note remembers how a request ended.
func (s *Service) note(space string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.space != space || err == nil {
		s.failed = 0
	}
	s.space, s.fault = space, err
	if err == nil {
		return
	}
	pause := min(firstPause<<min(s.failed, 10), mostPause)
	if no := (*modelapi.Refused)(nil); errors.As(err, &no) {
		pause = min(max(pause, no.After), mostPause)
	}
	s.failed, s.until = s.failed+1, s.Now().Add(pause)
}

// paid sends the texts after their cost is reserved, and corrects the cost afterwards.
func (s *Service) paid(ctx context.Context, e Endpoint, texts []string) ([][]float32, error) {
	if e.Local() || s.Reserve == nil {
		list, _, err := e.send(ctx, texts)
		return list, err
	}
	// A token has at least one byte.
	var most int64
	for _, t := range texts {
		most += int64(len(t))
	}
	correct, err := s.Reserve(ctx, e.cost(most))
	if err != nil {
		return nil, fmt.Errorf("nothing was sent to the embedding server: %w", err)
	}
	list, used, err := e.send(ctx, texts)
	switch no := (*modelapi.Refused)(nil); {
	case used > 0:
	case errors.As(err, &no):
		used = 0 // a refused request is not billed
	default:
		used = most // nobody knows what it has cost
	}
	return list, errors.Join(err, correct(context.WithoutCancel(ctx), e.cost(used)))
}

// cost is the price of tokens; without a known price the tokens themselves count.
func (e Endpoint) cost(tokens int64) turn.Amount {
	if e.Price == 0 {
		return turn.Amount{Tokens: tokens}
	}
	return turn.Amount{Micros: int64(math.Ceil(float64(tokens) * float64(e.Price) / 1e6))}
}
