package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"hob/channels/wire"

	"github.com/slack-go/slack"
)

// person is how somebody is shown.
type person struct {
	name string
	bot  bool
}

// look asks who somebody is, once for each Run. Nothing depends on it: without an answer he has only an id.
func (r *reader) look(ctx context.Context, id string) (person, bool) {
	if p, ok := r.people[id]; ok || id == "" {
		return p, ok
	}
	if id == r.me.UserID {
		return person{name: r.me.User, bot: true}, true
	}
	u, err := r.web.GetUserInfoContext(ctx, id)
	if err != nil {
		r.log.Debug("slack does not say who somebody is", "channel", r.name, "person", id, "err", err)
		return person{}, false
	}
	p := person{name: u.Profile.DisplayName, bot: u.IsBot}
	for _, name := range []string{u.Profile.RealName, u.RealName, u.Name, id} {
		if p.name == "" {
			p.name = name
		}
	}
	r.people[id] = p
	return p, true
}

// title is a group's name, its id where it cannot be had.
func (r *reader) title(ctx context.Context, group string) string {
	if title, ok := r.titles[group]; ok {
		return title
	}
	ch, err := r.web.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: group})
	if err != nil || ch == nil || ch.Name == "" {
		r.log.Debug("slack does not say what a channel is called", "channel", r.name, "group", group, "err", err)
		return group
	}
	r.titles[group] = "#" + ch.Name
	return r.titles[group]
}

// file opens a file. Where the event does not say its address ("file_access": "check_file_info"), Slack is asked for it.
func (w *web) file(ctx context.Context, id, from string) (io.ReadCloser, error) {
	if from == "" {
		f, _, _, err := w.GetFileInfoContext(ctx, id, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("files.info: %w", hint(err))
		}
		if from = f.URLPrivateDownload; from == "" {
			from = f.URLPrivate
		}
	}
	at, err := url.Parse(from)
	if err != nil || !w.owns(at) {
		return nil, errors.New("it lies elsewhere, and Slack only points to it")
	}
	return wire.Fetch(ctx, func(ctx context.Context) (io.ReadCloser, error) { return w.fetch(ctx, at) }, func(err error) bool {
		status := slack.StatusCodeError{}
		return errors.Is(err, errSignIn) || errors.As(err, &status) && status.Code < http.StatusInternalServerError
	})
}

// owns tells whether an address is one of the Web API's own server, or of another server of its domain: nobody else gets the token.
func (w *web) owns(at *url.URL) bool {
	host, own := strings.ToLower(at.Host), strings.ToLower(w.base.Host)
	return at.Scheme == w.base.Scheme && at.User == nil && (host == own || strings.HasSuffix(host, "."+own))
}

var errSignIn = errors.New("a sign-in page came in its place: the app lacks the scope files:read")

func (w *web) fetch(ctx context.Context, at *url.URL) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", wire.Bare(ctx, err))
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := w.plain.Do(req)
	if err != nil {
		return nil, wire.Bare(ctx, err)
	}
	page, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // what is none is no page
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest, page == "text/html" && !strings.Contains(at.Path, ".htm"):
		err = errSignIn
	case resp.StatusCode != http.StatusOK:
		err = slack.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	default:
		return resp.Body, nil
	}
	_ = resp.Body.Close() // only the head counts
	return nil, err
}
