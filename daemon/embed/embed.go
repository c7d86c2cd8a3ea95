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
	"math"
	"strconv"
	"strings"
	"time"

	"hob/daemon/modelapi"
)

// The limits of a request.
const (
	MaxTexts      = 64       // texts of one request
	maxAnswer     = 32 << 20 // bytes
	maxDimensions = 8192
)

// Endpoint is a server for embeddings.
type Endpoint struct {
	modelapi.Server
	Model      string
	Dimensions int // asked for; 0: the model's own
	Timeout    time.Duration
	Price      int64 // per million tokens, in millionths of the budget's currency; 0: unknown
}

// Space names what vectors are comparable: those of the same server, model and number of dimensions.
func (e Endpoint) Space() string {
	if e.URL == "" {
		return ""
	}
	return strings.TrimRight(e.URL, "/") + " " + e.Model + " " + strconv.Itoa(e.Dimensions)
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
	data, err := e.Post(ctx, "/embeddings", "application/json", bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, 0, err
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
