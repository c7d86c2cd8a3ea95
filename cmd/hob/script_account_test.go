package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/daemon/account/caldavtest"
)

// caldavServer starts radicale, or a CalDAV server in memory where that is not installed, and names it in $CALDAV_URL.
func caldavServer(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs("radicale")
	ts.Check(os.Mkdir(dir, 0o700))
	url, end, err := caldavtest.Radicale(context.Background(), dir)
	if err != nil && os.Getenv("CI") == "" {
		s := caldavtest.NewServer()
		url, end, err = s.URL, s.Close, nil
	}
	ts.Check(err)
	ts.Defer(end)
	ts.Setenv("CALDAV_URL", url)
}

// accountServices starts Anthropic's Admin API and LinkedIn's pages, as far as one question needs them, and names them in $SERVICES_URL.
func accountServices(ts *testscript.TestScript, _ bool, _ []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := ""
		switch r.URL.Path {
		case "/v1/organizations/usage_report/messages", "/v1/organizations/cost_report", "/v1/organizations/usage_report/claude_code":
			if r.Header.Get("X-Api-Key") != "sk-ant-admin01-right" {
				w.WriteHeader(http.StatusUnauthorized)
			} else if r.URL.Query().Get("ending_at") == "" {
				w.WriteHeader(http.StatusForbidden)
			}
			body = `{"data": [], "has_more": false}`
			if r.URL.Path == "/v1/organizations/cost_report" {
				body = `{"data": [{"starting_at": "` + r.URL.Query().Get("starting_at") + `", "results": [{"amount": "123.78912", "currency": "USD", "description": "Input"}]}], "has_more": false}`
			}
		case "/jobs-guest/jobs/api/seeMoreJobPostings/search":
			if r.URL.Query().Get("start") == "0" {
				body = `<li><div class="base-search-card" data-entity-urn="urn:li:jobPosting:3439174366"><h3 class="base-search-card__title">Gopher</h3><h4 class="base-search-card__subtitle">Burrow</h4><span class="job-search-card__location">Oslo</span><time datetime="2026-11-20"></time></div></li>`
			}
		case "/jobs-guest/jobs/api/jobPosting/3439174366":
			body = `<h2 class="topcard__title">Gopher</h2><div class="description__text">It digs.</div>`
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		_, err := w.Write([]byte(body)) // #nosec G705 -- to a test
		ts.Check(err)
	}))
	ts.Defer(s.Close)
	ts.Setenv("SERVICES_URL", s.URL)
}
