// Package embed turns texts into vectors, with any server that implements OpenAI's API for embeddings
// (https://platform.openai.com/docs/api-reference/embeddings/create). Texts of the same meaning get vectors that are near to each other.
//
// The flow: Service.Embed reads the endpoint from the config, reserves the cost of the request, sends the texts, checks the answer and
// corrects the cost. The index of daemon/memory calls it for new texts and for the query of a search. It keeps nothing but a pause: after a
// failure it does not ask again for a while, so that no search waits for a server that is down.
package embed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The limits of a request.
const (
	MaxTexts      = 64       // texts of one request
	maxAnswer     = 32 << 20 // bytes
	maxDimensions = 8192
	maxWords      = 200 // characters of a server's error message
)

// Endpoint is a server for embeddings.
type Endpoint struct {
	URL        string // the base_url; /embeddings is appended
	Model      string
	Key        string // "": none is sent
	Dimensions int    // asked for; 0: the model's own
	Timeout    time.Duration
	Price      int64        // per million tokens, in millionths of the budget's currency; 0: unknown
	HTTP       *http.Client // redirects are not followed
}

// Space names what vectors are comparable: those of the same server, model and number of dimensions.
func (e Endpoint) Space() string {
	if e.URL == "" {
		return ""
	}
	return strings.TrimRight(e.URL, "/") + " " + e.Model + " " + strconv.Itoa(e.Dimensions)
}

// Local reports whether the endpoint runs on this machine and therefore costs nothing.
func (e Endpoint) Local() bool {
	u, err := url.Parse(e.URL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Refused is an error response.
type Refused struct {
	Status int
	Says   string        // the server's message, on one line
	After  time.Duration // how long to wait, if the server says it
}

func (e *Refused) Error() string {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("the embedding server does not accept the key (HTTP %d)", e.Status)
	case http.StatusPaymentRequired:
		return "the embedding server wants to be paid (HTTP 402)" + e.Says
	case http.StatusNotFound:
		return "the embedding server has no such address or model (HTTP 404)" + e.Says
	case http.StatusTooManyRequests:
		return "the embedding server accepts no more requests at the moment (HTTP 429)"
	}
	return fmt.Sprintf("the embedding server answers with HTTP %d%s", e.Status, e.Says)
}

// send asks for the vectors of texts. It returns them in the order of the texts, all of the same length and of length 1, and the tokens that
// the server reported; 0: none. Its errors are sentences for people and contain neither the key nor the texts.
func (e Endpoint) send(ctx context.Context, texts []string) ([][]float32, int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, fmt.Errorf("the embedding server did not answer within %s", e.Timeout))
	defer cancel()
	body, err := json.Marshal(struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{e.Model, texts, "float", e.Dimensions})
	if err != nil {
		return nil, 0, fmt.Errorf("write the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.URL, "/")+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, 0, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	web := *e.HTTP
	web.Timeout, web.CheckRedirect = 0, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := web.Do(req)
	if err != nil {
		return nil, 0, unreached(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or not needed
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, 0, refusal(resp, data)
	case err != nil:
		return nil, 0, unreached(ctx, err)
	case len(data) > maxAnswer:
		return nil, 0, errors.New("the embedding server's answer has more than 32 MB")
	}
	return e.read(data, len(texts))
}

// read takes the vectors from an answer. A server may give them in any order.
func (e Endpoint) read(data []byte, n int) ([][]float32, int64, error) {
	var a struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt int64 `json:"prompt_tokens"`
			Total  int64 `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, 0, errors.New("the embedding server's answer holds no embeddings (check base_url and model)")
	}
	used := max(cmp.Or(a.Usage.Total, a.Usage.Prompt), 0)
	if len(a.Data) != n {
		return nil, used, fmt.Errorf("the embedding server gave %d vectors for %d texts", len(a.Data), n)
	}
	list := make([][]float32, n)
	want := e.Dimensions
	for _, v := range a.Data {
		want = cmp.Or(want, len(v.Embedding)) // the first one decides
		switch {
		case v.Index < 0 || v.Index >= n || list[v.Index] != nil:
			return nil, used, fmt.Errorf("the embedding server numbered its vectors wrongly (%d)", v.Index)
		case len(v.Embedding) != want || want == 0 || want > maxDimensions:
			return nil, used, fmt.Errorf("the embedding server gave a vector of %d dimensions, want %d (dimensions in [memory.embeddings])", len(v.Embedding), want)
		case !unit(v.Embedding):
			return nil, used, errors.New("the embedding server gave a vector that has no direction")
		}
		list[v.Index] = v.Embedding
	}
	return list, used, nil
}

// unit scales a vector to length 1. It returns false for one without a direction: all zero, or not finite.
func unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if size := math.Sqrt(sum); size > 0 && !math.IsInf(size, 0) && !math.IsNaN(size) {
		for i := range v {
			v[i] = float32(float64(v[i]) / size)
		}
		return true
	}
	return false
}

// unreached explains why there is no response.
func unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("the embedding server cannot be reached: %w", err)
}

// refusal makes the error of an error response, with the server's message if it has one.
func refusal(resp *http.Response, body []byte) *Refused {
	e := &Refused{Status: resp.StatusCode}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.After = time.Duration(min(n, math.MaxInt32)) * time.Second
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Message == "" {
		return e // a proxy's page, or another format
	}
	line := []rune(strings.Join(strings.Fields(said.Error.Message), " "))
	e.Says = ": " + string(line[:min(len(line), maxWords)])
	return e
}
