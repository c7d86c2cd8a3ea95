package agent_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"hob/daemon/agent"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/policy"
	"hob/tools"
)

type letter struct {
	To    string `json:"to" jsonschema:"who gets it"`
	Words string `json:"words,omitempty" jsonschema:"what it says"`
}

// post are tools with which a turn sends: mail to an address, and a payment by an MCP server. The canonical form of a payment is its arguments as
// the model wrote them.
func post(r *harness) {
	foreignTools(r)
	mail := func(_ context.Context, _ tools.Call, in letter) (tools.Intent, error) {
		return tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Messages}, Addresses: []event.Address{event.Address(in.To)}, Summary: "mail " + in.To, Canonical: []byte(in.To + in.Words)}, nil
	}
	pay := func(context.Context, tools.Call, letter) (tools.Intent, error) {
		return tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.MCP}, Server: "bank", Summary: "pay"}, nil
	}
	run := func(name string) func(context.Context, tools.Call, letter, tools.Intent) (tools.Result, error) {
		return func(_ context.Context, _ tools.Call, in letter, _ tools.Intent) (tools.Result, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ran[name]++
			r.ran[in.To]++
			return tools.Result{Content: name + " to " + in.To}, nil
		}
	}
	r.list = append(r.list,
		tools.New[letter, nothing](tools.Spec{Name: "mail", Group: "test", Core: true, Description: "Sends."}, mail, run("mail")),
		tools.New[letter, nothing](tools.Spec{Name: "pay", Group: "test", Core: true, Description: "Pays."}, pay, run("pay")))
}

func mail(to, words string) llm.Answer {
	return llmtest.Use("mail", fmt.Sprintf(`{"to":%q,"words":%q}`, to, words))
}

// Q1: in a tainted turn, an approval for the turn is for the same recipient, and ends with the next foreign text.
func TestTurnApprovalInATaintedTurn(t *testing.T) {
	reply := llmtest.InOrder(use("fetch", "a"), mail("chat:anna", "1"), mail("chat:anna", "2"), mail("chat:mallory", "3"), mail("chat:anna", "4"), use("fetch", "b"), mail("chat:anna", "5"), llmtest.Say("ok"))
	bubble(t, reply, func(r *harness) {
		r.ask("go")
		contains(t, r.lastBody(), "turn: this kind until the turn ends or reads foreign text")
		r.ask("/approve " + r.code() + " turn")
		if r.times("chat:anna") != 2 || r.times("chat:mallory") != 0 {
			t.Errorf("sent %v; want anna's two, and a question about mallory", r.ran)
		}
		r.ask("/approve " + r.code()) // mallory, once
		if r.times("chat:anna") != 3 || r.times("fetch") != 2 {
			t.Errorf("sent %v; want anna's third, and a question after the second page", r.ran)
		}
		r.ask("/deny " + r.code())
	}, post)
}

// Q1: the question was asked before foreign text came, and answered after it.
func TestTurnApprovalGivenAfterTheTaint(t *testing.T) {
	n := 0
	bubble(t, script(func(last string, _ llm.Request) llm.Answer {
		switch n++; {
		case last == "send":
			return mail("chat:anna", "1")
		case last == "fetch":
			return use("fetch", "a")
		case last == "[late result of #1] mail to chat:anna", last == "mail to chat:anna":
			return mail("chat:mallory", "2")
		}
		return llmtest.Say("ok " + last)
	}), func(r *harness) {
		r.ask("send")
		code := r.code()
		r.ask("fetch")
		r.ask("/approve " + code + " turn")
		if r.times("chat:anna") != 1 || r.times("chat:mallory") != 0 {
			t.Errorf("sent %v; the yes was for anna", r.ran)
		}
		r.code() // mallory is asked about
	}, post)
}

// Q1, Q2: a tainted turn is offered no more than its pattern binds: nothing for a batch, for a server that changes things, for the schedule.
func TestWhatATaintedTurnIsOffered(t *testing.T) {
	once, all := []string{"once", "no"}, []string{"once", "turn", "always", "no"}
	for name, c := range map[string]struct {
		calls llm.Answer
		want  []string
	}{
		"a payment":  {llmtest.Use("pay", `{"to":"DE1"}`), once},
		"the agenda": {use("note", "x"), once},
		"a batch":    {llmtest.UseAll(mail("chat:a", "1"), mail("chat:a", "2")), once},
		"a mail":     {mail("chat:a", "1"), all},
		"a command":  {use("shell", "ls"), all},
		"a file":     {use("save", "x"), all},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, llmtest.InOrder(use("fetch", "a"), c.calls, llmtest.Say("ok")), func(r *harness) {
				r.ask("go")
				list := r.questions()
				if q := list[len(list)-1]; !slices.Equal(q.Options, c.want) {
					t.Errorf("offered %q, want %q", q.Options, c.want)
				}
				if slices.Equal(c.want, once) { // by its code neither
					code := r.code()
					r.ask("/approve " + code + " turn")
					r.ask("/approve " + code + " always")
					if r.code() != code || r.times("pay")+r.times("note")+r.times("mail") != 0 {
						t.Errorf("ran %v", r.ran)
					}
				}
			}, post)
		})
	}
}

// Q2: a grant of before, for whatever a server can do, does not serve a tainted turn.
func TestGrantOfAServerThatChanges(t *testing.T) {
	bubble(t, llmtest.InOrder(use("fetch", "a"), llmtest.Use("pay", `{"to":"DE1"}`), llmtest.Say("ok")), func(r *harness) {
		r.sql(`INSERT INTO questions (id, code, subject, text, options, address, asked, until, state) VALUES (1, 'AAAA', 'call', '', '[]', 'cli:main', 1, 2, 'expired')`)
		r.sql(`INSERT INTO grants (tool, pattern, question, created, tainted) VALUES ('pay', 'send anything that hob knows to the MCP server "bank"', 1, 1, 1)`)
		r.ask("go")
		if r.times("pay") != 0 {
			t.Error("paid unasked")
		}
	}, post)
}

// Q3: a no holds for the same call until the turn ends, in any spelling, and for nothing else.
func TestANoHoldsForTheTurn(t *testing.T) {
	pay := func(args string) llm.Answer { return llmtest.Use("pay", args) }
	again := []llm.Answer{
		pay(`{"to":"DE1","words":"x"}`), use("look", "1"), pay(`{"words":"x","to":"DE1"}`), use("look", "2"), pay(`{ "to": "\u0044E1", "words": "x" }`), use("look", "3"),
		llmtest.Use("tool", `{"action":"call","name":"pay","arguments":{"words":"x","to":"DE1"}}`), use("look", "4"),
		llmtest.UseAll(pay(`{"to":"DE1","words":"x"}`), pay(`{"to":"DE2","words":"x"}`)),
	}
	bubble(t, llmtest.InOrder(append(append([]llm.Answer{use("fetch", "a")}, again...), llmtest.Say("ok"), use("look", "5"), pay(`{"to":"DE1","words":"x"}`), llmtest.Say("ok"))...), func(r *harness) {
		r.ask("go")
		r.ask("/deny " + r.code())
		if q := r.questions(); len(q) != 2 || q[1].State != "open" {
			t.Fatalf("asked %d times; want once for the first call and once for the new one", len(q))
		}
		r.ask("/approve " + r.code())
		if r.times("DE1") != 0 || r.times("DE2") != 1 {
			t.Errorf("paid %v", r.ran)
		}
		for _, row := range r.turn(1).Audit {
			if row.Tool == "pay" && row.Decision == "ask" {
				t.Errorf("audit: %+v", row)
			}
		}
		r.ask("now") // a new turn may ask again
		r.code()
	}, post, func(r *harness) {
		set, err := tools.NewSet(r.list...)
		if err != nil {
			t.Fatal(err)
		}
		r.list = append(r.list, tools.NewCatalog(set.Specs()))
	})
}

// T8: nothing that was given before covers hob's own API, by whatever name.
func TestOwnAPIAlwaysAsks(t *testing.T) {
	for host, want := range map[string]policy.Verdict{"127.0.0.1:4620": policy.Ask, "me.localhost:4620": policy.Ask, "127.0.0.1:8000": policy.Allow} {
		i := tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Net}, Hosts: []string{host}, Private: true, Canonical: []byte("{}")}
		get := tools.New[args, nothing](tools.Spec{Name: "get", Group: "test", Description: "Asks."}, func(context.Context, tools.Call, args) (tools.Intent, error) { return i, nil }, nil)
		set, err := tools.NewSet(get)
		if err != nil {
			t.Fatal(err)
		}
		d := &agent.Dispatch{
			Set: set, Settings: func(context.Context) agent.Settings {
				return agent.Settings{Mode: policy.ModeAsk, Address: "127.0.0.1:4620"}
			},
			Grants: func(context.Context) ([]policy.Grant, error) {
				return []policy.Grant{{ID: 1, Tool: "get", Pattern: policy.Pattern(i), Tainted: true}}, nil
			},
		}
		a := agent.Actor{Name: "thread", Trust: event.Owner, Tainted: true, Rights: []string{"net:" + host}}
		j := d.Judge(t.Context(), a, tools.Call{Name: "get", Args: []byte(`{}`)})
		if j.Decision.Verdict != want || want == policy.Ask && policy.Bound(j.Intent) != "" {
			t.Errorf("%s: %+v, offers %q; want %s", host, j.Decision, policy.Bound(j.Intent), want)
		}
	}
}
