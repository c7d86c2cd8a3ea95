package slack

import (
	"cmp"
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

// person is the display name of a user, and whether the user is a bot.
type person struct {
	name string
	bot  bool
}

// userName returns the name of a user, and asks once for each Run. Without an answer the id is shown; a name is
// never used to decide anything.
func (r *reader) userName(ctx context.Context, id string) (person, bool) {
	if p, ok := r.people[id]; ok || id == "" {
		return p, ok
	}
	if id == r.view.me.UserID {
		return person{name: r.view.me.User, bot: true}, true
	}
	// Names are cached for one Run, because each look-up counts towards a rate limit.
	u, err := r.view.channel.web.GetUserInfoContext(ctx, id)
	if err != nil {
		r.view.channel.log.Debug("slack does not say who somebody is", "channel", r.view.channel.name, "person", id, "err", err)
		return person{}, false
	}
	p := person{name: u.Profile.DisplayName, bot: u.IsBot}
	for _, name := range []string{u.Profile.RealName, u.RealName, u.Name, id} {
		p.name = cmp.Or(p.name, name)
	}
	r.people[id] = p
	return p, true
}

// title returns a group's name, or its id if the name is unknown.
func (r *reader) title(ctx context.Context, group string) string {
	if title, ok := r.titles[group]; ok {
		return title
	}
	ch, err := r.view.channel.web.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: group})
	if err != nil || ch == nil || ch.Name == "" {
		r.view.channel.log.Debug("slack does not say what a channel is called", "channel", r.view.channel.name, "group", group, "err", err)
		return group
	}
	r.titles[group] = "#" + ch.Name
	return r.titles[group]
}

// file opens a file. Events for apps without access omit the address ("file_access": "check_file_info"); then
// Slack is asked.
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
		return nil, errors.New("it is on another server, and Slack only links to it")
	}
	return wire.Fetch(ctx, func(ctx context.Context) (io.ReadCloser, error) { return w.fetch(ctx, at) }, func(err error) bool {
		status := slack.StatusCodeError{}
		return errors.Is(err, errSignIn) || errors.As(err, &status) && status.Code < http.StatusInternalServerError
	})
}

// owns reports whether an address belongs to the Web API's server or its domain. Only these hosts get the
// token.
func (w *web) owns(at *url.URL) bool {
	host, own := strings.ToLower(at.Host), strings.ToLower(w.base.Host)
	return at.Scheme == w.base.Scheme && at.User == nil && (host == own || strings.HasSuffix(host, "."+own))
}

// errSignIn is the answer to a download with a token that may not read files: a redirect or a page instead of
// the file.
var errSignIn = errors.New("a sign-in page came in its place: the app lacks the scope files:read")

// fetch downloads a file with the bot token. Slack answers a missing scope with a sign-in page, not with an
// error.
func (w *web) fetch(ctx context.Context, at *url.URL) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", wire.WithoutAddress(ctx, err))
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := w.plain.Do(req)
	if err != nil {
		return nil, wire.WithoutAddress(ctx, err)
	}
	page, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an unreadable type is not a page
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest, page == "text/html" && !strings.Contains(at.Path, ".htm"):
		err = errSignIn
	case resp.StatusCode != http.StatusOK:
		err = slack.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	default:
		return resp.Body, nil
	}
	_ = resp.Body.Close() // only the header is needed
	return nil, err
}
