package daemon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// An unknown price is unknown wherever money is shown, and null in JSON, never 0; what costs nothing costs 0.
func TestAnUnknownPriceIsUnknown(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("well")) })
	for price, unknown := range map[string]bool{"": true, "price = { input = 1.0, output = 1.0 }\n": false} {
		home := t.TempDir()
		write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n%s", model.URL, price))
		r := start(t, home)
		r.cron(map[string]any{"action": "add", "name": "j", "schedule": "every 24h", "prompt": "brief me"})
		r.outcome("j")
		r.say("hello")
		got := map[string]string{"usage": r.say("/usage"), "status": r.run("sessions_status", `{}`).Message}
		budget, err := client.Show(t.Context(), r.client, api.ShowBudget.Raw(), "")
		if err != nil {
			t.Fatal(err)
		}
		got["budget"] = string(budget)
		for _, list := range []api.List[json.RawMessage]{api.Turns.Raw(), api.Fires.Raw()} {
			rows, err := client.List(t.Context(), r.client, list, event.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			got[list.Name()] = string(rows[0])
		}
		trial, err := client.Do(t.Context(), r.client, api.Verb[api.None, json.RawMessage](api.TestModel), "first", api.None{})
		if err != nil {
			t.Fatal(err)
		}
		got["trial"] = string(trial)
		_, _, got["metrics"] = r.fetch("/metrics", true)
		if strings.Contains(got["metrics"], "hob_model_cost_total{") == unknown {
			t.Errorf("price %q: %s", price, got["metrics"])
		}
		for what, word := range map[string]string{"trial": `"cost_micros":null`, "metrics": `hob_model_unpriced_requests_total{model="compatible/m"} `, "usage": "unknown of", "status": "cost: unknown", "budget": `"used_micros":null`, "turns": `"cost_micros":null`, "fires": `"cost_micros":null`} {
			if strings.Contains(got[what], word) != unknown {
				t.Errorf("price %q, %s: %s", price, what, got[what])
			}
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// Input that was written to the provider's cache is shown apart wherever input from the cache is, and costs its own price.
func TestWrittenInputIsShown(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn {
		answer := llmtest.Say("well")
		answer.Usage = llm.Usage{Input: 1000, Cached: 600, Written: 300, Output: 10}
		return llmtest.Streamed(answer)
	})
	for price, cost := range map[string]int64{"": 1755, "price = { input = 1.0, written = 2.0, output = 10.0 }\n": 100 + 60 + 600 + 100} {
		home := t.TempDir()
		write(t, home, fmt.Sprintf("[model]\nbackend = \"anthropic\"\nmodel = \"claude-sonnet-4-6\"\nbase_url = %q\n%s", model.URL, price))
		r := start(t, home)
		r.say("hello")
		rows, err := client.List(t.Context(), r.client, api.Turns, event.Filter{})
		if err != nil || int64(rows[0].Cost) != cost {
			t.Fatalf("%+v, %v; want %d", rows, err, cost)
		}
		one, err := client.Show(t.Context(), r.client, api.ShowTurn.Raw(), fmt.Sprint(rows[0].ID))
		if err != nil || !strings.Contains(string(one), `"input":1000,"cached":600,"cache_written":300,`) {
			t.Errorf("%s, %v", one, err)
		}
		trial, err := client.Do(t.Context(), r.client, api.Verb[api.None, json.RawMessage](api.TestModel), "first", api.None{})
		if err != nil || !strings.Contains(string(trial), `"cache_written":`) {
			t.Errorf("%s, %v", trial, err)
		}
		_, _, metrics := r.fetch("/metrics", true)
		for kind, n := range map[string]int{"input": 100, "cached": 600, "written": 300, "output": 10} {
			if want := fmt.Sprintf("hob_model_tokens_total{model=\"anthropic/claude-sonnet-4-6\",kind=%q} %d\n", kind, n); !strings.Contains(metrics, want) {
				t.Errorf("the metrics have no %s", want)
			}
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}
