package google

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/daemon/oauth"
	"hob/daemon/text"
	"hob/tools"
)

// The interfaces: their hosts, paths and names at Google's console.
type api struct{ host, path, title, console string }

func mailAPI() api {
	return api{"gmail.googleapis.com", "/gmail/v1/users/me", "the Gmail API", "gmail.googleapis.com"}
}

func calendarAPI() api {
	return api{"www.googleapis.com", "/calendar/v3", "the Google Calendar API", "calendar-json.googleapis.com"}
}

// Limits of a request.
const (
	patience  = time.Minute
	maxAnswer = 40 << 20 // bytes; a mail of 25 MB is a third larger in base64
	maxFault  = 64 << 10
)

// failure is an error answer of Google.
type failure struct {
	status int
	reason string
	err    error // the sentence for the model
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// status is the HTTP status of an error answer; 0: there was no answer.
func status(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.status
	}
	return 0
}

// signIn is the error of an account without a sign-in.
func signIn() error {
	return tools.Refuse(tools.ConfigError, "the owner signs in with: hob account login google", "nobody is signed in to Google, or Google has ended the access")
}

// incomplete is the error of an account that no sign-in has read: nobody is signed in, or a scope is missing.
func incomplete() error {
	return tools.Refuse(tools.ConfigError, "the owner signs in with: hob account login google, and ticks every box; hob account test google says what is missing", "nobody is signed in to Google, or the sign-in is not complete")
}

// rest calls the interfaces of Google for one account.
type rest struct{ Parts }

// at returns an address of Google, or of the server in its place.
func (p Place) at(host, path string) string {
	if p != "" {
		return strings.TrimSuffix(string(p), "/") + path
	}
	return "https://" + host + path
}

func (c *rest) get(ctx context.Context, to api, path string, q url.Values, scope string, out any) error {
	return c.call(ctx, http.MethodGet, to, path, q, nil, scope, out)
}

// call makes one request. scope is what it needs. A token that Google refuses is renewed once.
func (c *rest) call(ctx context.Context, method string, to api, path string, q url.Values, in any, scope string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("write a request to Google: %w", err)
		}
	}
	link := c.Place.at(to.host, to.path) + path
	if len(q) > 0 {
		link += "?" + q.Encode()
	}
	for again := false; ; again = true {
		access, err := c.SignIn.Token(ctx)
		if err != nil {
			return err
		}
		if access == "" {
			return &failure{err: signIn()}
		}
		resp, err := c.send(ctx, method, link, access, body)
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusUnauthorized && !again {
			_ = resp.Body.Close() // the refusal says nothing more
			switch retry, err := c.SignIn.Rejected(ctx, access); {
			case err != nil:
				return err
			case retry:
				continue
			}
			return &failure{status: http.StatusUnauthorized, err: signIn()}
		}
		return read(resp, to, scope, out)
	}
}

func (c *rest) send(ctx context.Context, method, link, access string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, link, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+access)
	req.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.Web.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, ctx.Err()
		}
		return nil, tools.Refuse(tools.IO, "try again later", "Google cannot be reached: %s", text.Shorten(err.Error(), 200))
	}
	return resp, nil
}

// read reads an answer.
func read(resp *http.Response, to api, scope string, out any) error {
	defer func() { _ = resp.Body.Close() }() // nothing was written
	if resp.StatusCode/100 != 2 {
		return refused(resp, to, scope)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return tools.Refuse(tools.IO, "try again later", "the answer of Google broke off")
	case len(raw) > maxAnswer:
		return tools.Refuse(tools.IO, "look at it at Google", "it has more than %d MB", maxAnswer>>20)
	case out == nil || len(raw) == 0:
		return nil
	case json.Unmarshal(raw, out) != nil:
		return tools.Refuse(tools.IO, "try again later; hob may be too old for a change at Google", "the answer of Google cannot be read")
	}
	return nil
}

// refused reads an error answer: {"error": {"code", "message", "status", "errors": [{"reason"}], "details": [{"reason"}]}}
// (https://developers.google.com/workspace/calendar/api/guides/errors, https://developers.google.com/workspace/gmail/api/guides/handle-errors).
func refused(resp *http.Response, to api, scope string) *failure {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault)) // what is missing is not shown
	var doc struct {
		Error struct {
			Message string                            `json:"message"`
			Errors  []struct{ Reason string }         `json:"errors"`
			Details []struct{ Reason, Domain string } `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(raw, &doc) // a proxy may answer with a page
	f := &failure{status: resp.StatusCode}
	for _, e := range doc.Error.Errors {
		f.reason = e.Reason
	}
	for _, d := range doc.Error.Details {
		switch d.Reason {
		case "ACCESS_TOKEN_SCOPE_INSUFFICIENT":
			f.reason = "insufficientPermissions"
		case "SERVICE_DISABLED":
			f.reason = "accessNotConfigured"
		case "RATE_LIMIT_EXCEEDED":
			f.reason = "rateLimitExceeded"
		}
	}
	f.err = f.sentence(resp, to, scope, doc.Error.Message)
	return f
}

// sentence says what an error answer means, and what helps.
func (f *failure) sentence(resp *http.Response, to api, scope, message string) error {
	said := ""
	if message = oauth.Clean(message); message != "" {
		said = ": “" + text.Shorten(message, 200) + "”"
	}
	switch s := f.status; {
	case s == http.StatusTooManyRequests, s == http.StatusForbidden && (strings.HasSuffix(strings.ToLower(f.reason), "ratelimitexceeded") || f.reason == "quotaExceeded" || f.reason == "dailyLimitExceeded"):
		return tools.Refuse(tools.RateLimited, "try again "+after(resp), "Google takes no more requests now (%s)", f.reason)
	case s == http.StatusUnauthorized:
		return signIn()
	case s == http.StatusForbidden && f.reason == "accessNotConfigured":
		return tools.Refuse(tools.ConfigError, "the owner opens https://console.cloud.google.com/apis/library/"+to.console+", chooses the project of the OAuth client and presses Enable; it takes a few minutes",
			"%s is not switched on in the owner's project at Google", to.title)
	case s == http.StatusForbidden && strings.HasPrefix(f.reason, "insufficientPermission"):
		return withoutScope(scope)
	case s == http.StatusForbidden:
		return tools.Refuse(tools.Denied, "the owner looks at Google whether the account may do this", "Google does not allow this (%s)%s", f.reason, said)
	case s == http.StatusNotFound:
		return tools.Refuse(tools.NotFound, "search or list again; take ids as they are shown", "Google does not have it, or no longer")
	case s == http.StatusGone:
		return tools.Refuse(tools.NotFound, "list again from the beginning", "it is deleted at Google, or the place in the list is too old")
	case s == http.StatusConflict:
		return tools.Refuse(tools.Conflict, "look at it first", "Google has it already%s", said)
	case s == http.StatusPreconditionFailed:
		return tools.Refuse(tools.Conflict, "read it again, then decide anew", "it was changed at Google meanwhile")
	case s >= 500:
		return tools.Refuse(tools.IO, "try again "+after(resp), "Google has a fault of its own (HTTP %d)", s)
	default:
		return tools.Refuse(tools.Validation, "", "Google does not take the request (HTTP %d)%s", s, said)
	}
}

// after says when to try again, by Retry-After (RFC 9110, section 10.2.3).
func after(resp *http.Response) string {
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 && n < 24*60*60 {
		return "in " + (time.Duration(n) * time.Second).String()
	}
	return "in a minute"
}
