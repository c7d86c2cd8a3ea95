package api

import (
	"encoding/json"
	"path"
	"strings"

	"hob/daemon/event"
)

// A route is a constant. Its value is its method and path, as the patterns of http.ServeMux have them; its type says what it takes and what it
// answers. The server (package daemon/api/server) gives each route its handler, the client (daemon/api/client) asks by the same constant.
type (
	// List is the route of a list of rows. Its query is an event.Filter.
	List[R any] string
	// Show is the route of one row, by the id or name in its path, or of something that exists once.
	Show[R any] string
	// Verb is the route of a change. In is the body of the request, Out the answer.
	Verb[In, Out any] string
)

// Name is what the rows are called in the path: "turns".
func (l List[R]) Name() string { return strings.TrimPrefix(string(l), "GET /v1/") }

// Raw is the same route for a caller that reads the rows as the JSON that the server writes.
func (l List[R]) Raw() List[json.RawMessage] { return List[json.RawMessage](l) }

// Resource is what the row is called in the path: "turns".
func (s Show[R]) Resource() string { return resource(string(s)) }

// Raw is the same route for a caller that reads the row as the JSON that the server writes.
func (s Show[R]) Raw() Show[json.RawMessage] { return Show[json.RawMessage](s) }

// Resource is what the verb changes, by the path: "turns".
func (v Verb[In, Out]) Resource() string { return resource(string(v)) }

func resource(route string) string {
	_, after, _ := strings.Cut(route, "/v1/")
	name, _, _ := strings.Cut(after, "/")
	return name
}

// Name is what the verb is called.
func (v Verb[In, Out]) Name() string { return path.Base(string(v)) }

// Lists of rows.
const (
	Turns     List[Turn]      = "GET /v1/turns"
	Sessions  List[Session]   = "GET /v1/sessions"
	Inbox     List[InboxRow]  = "GET /v1/inbox"
	Outbox    List[OutboxRow] = "GET /v1/outbox"
	Questions List[Question]  = "GET /v1/questions"
	Grants    List[Grant]     = "GET /v1/grants"
	Jobs      List[Job]       = "GET /v1/jobs"
	Watches   List[Watch]     = "GET /v1/watches"
	Webhooks  List[Webhook]   = "GET /v1/hooks"
	Fires     List[Fire]      = "GET /v1/fires"
	Tasks     List[Task]      = "GET /v1/tasks"
	Audit     List[AuditRow]  = "GET /v1/audit"
	Marks     List[Mark]      = "GET /v1/marks"
	Channels  List[Channel]   = "GET /v1/channels"
	Pairings  List[Pairing]   = "GET /v1/pairings"
	Tools     List[Tool]      = "GET /v1/tools" // takes ?all=1 instead of a filter
	Skills    List[Skill]     = "GET /v1/skills"
	Endpoints List[Endpoint]  = "GET /v1/endpoints"

	MCPServers List[MCPServer] = "GET /v1/mcp"

	LinkedAccounts List[LinkedAccount] = "GET /v1/accounts"

	MemoryFiles  List[MemoryFile]  = "GET /v1/memory"
	ContextItems List[ContextItem] = "GET /v1/context"
)

// One row each, with its details.
const (
	ShowTurn     Show[TurnDetail]    = "GET /v1/turns/{id}"
	ShowSession  Show[SessionDetail] = "GET /v1/sessions/{id}"
	ShowPrompt   Show[SessionPrompt] = "GET /v1/sessions/{id}/prompt"
	ShowInbox    Show[InboxRow]      = "GET /v1/inbox/{id}"
	ShowOutbox   Show[OutboxRow]     = "GET /v1/outbox/{id}"
	ShowQuestion Show[Question]      = "GET /v1/questions/{id}"
	ShowJob      Show[Job]           = "GET /v1/jobs/{id}"
	ShowWatch    Show[Watch]         = "GET /v1/watches/{id}"
	ShowWebhook  Show[Webhook]       = "GET /v1/hooks/{id}"
	ShowFire     Show[Fire]          = "GET /v1/fires/{id}"
	ShowTask     Show[Task]          = "GET /v1/tasks/{id}"
	ShowAudit    Show[AuditRow]      = "GET /v1/audit/{id}"
	ShowChannel  Show[Channel]       = "GET /v1/channels/{id}"
	ShowPairing  Show[Pairing]       = "GET /v1/pairings/{id}"
	ShowModel    Show[ModelDetail]   = "GET /v1/model/named/{id}" // "first": the one that is asked first
	ShowTool     Show[ToolSpec]      = "GET /v1/tools/{id}"
	ShowSkill    Show[Skill]         = "GET /v1/skills/{id}"
	ShowMCP      Show[MCPServer]     = "GET /v1/mcp/{id}"
	ShowLinked   Show[LinkedAccount] = "GET /v1/accounts/{id}"
	ShowWhy      Show[Why]           = "GET /v1/why/{id}" // id: of an outbox row, or "last"
)

// Things that exist once.
const (
	ShowStatus        Show[Status]        = "GET /v1/status"
	ShowBudget        Show[Budget]        = "GET /v1/budget"
	ShowMemory        Show[MemoryStatus]  = "GET /v1/memory/status"
	ShowRoster        Show[Roster]        = "GET /v1/model"
	ShowModelServers  Show[[]ModelServer] = "GET /v1/model/servers"
	ShowTranscription Show[Transcription] = "GET /v1/model/voice"
	ShowAccount       Show[Account]       = "GET /v1/model/codex"
	ShowCapabilities  Show[Text]          = "GET /v1/capabilities"
	ShowRecording     Show[Recording]     = "GET /v1/record"
)

// Changes of the conversation: messages, questions and answers.
const (
	PostMessage     Verb[Message, event.Receipt]     = "POST /v1/messages"
	PostToSession   Verb[Message, event.Receipt]     = "POST /v1/sessions/{id}/send" // text and id only
	SendText        Verb[Outgoing, Sent]             = "POST /v1/send"
	CallTool        Verb[ToolCall, Outcome]          = "POST /v1/tools/{id}"
	ArchiveSession  Verb[None, Done]                 = "DELETE /v1/sessions/{id}" // ends it for good
	SearchHistory   Verb[HistoryQuery, HistoryFound] = "POST /v1/sessions/search"
	PutAwaySession  Verb[None, Done]                 = "POST /v1/sessions/{id}/archive"   // until its next message
	BringBack       Verb[None, Done]                 = "POST /v1/sessions/{id}/unarchive" //
	ForgetSession   Verb[None, Forgotten]            = "POST /v1/sessions/{id}/forget"    // removes what was said
	CompactSession  Verb[Compact, Done]              = "POST /v1/sessions/{id}/compact"   // before its next request
	StopTurn        Verb[None, Done]                 = "POST /v1/turns/{id}/stop"
	RetryInbox      Verb[None, Done]                 = "POST /v1/inbox/{id}/retry"
	DropInbox       Verb[None, Done]                 = "POST /v1/inbox/{id}/drop"
	RetryOutbox     Verb[None, Done]                 = "POST /v1/outbox/{id}/retry"
	DropOutbox      Verb[None, Done]                 = "POST /v1/outbox/{id}/drop"
	ApproveQuestion Verb[Approve, Answered]          = "POST /v1/questions/{id}/approve"
	DenyQuestion    Verb[None, Answered]             = "POST /v1/questions/{id}/deny"
	AnswerQuestion  Verb[Answer, Answered]           = "POST /v1/questions/{id}/answer"
	RevokeGrant     Verb[None, Done]                 = "POST /v1/grants/{id}/revoke"
	AcceptMark      Verb[MarkedFile, Done]           = "POST /v1/marks/accept"
	MarkForeign     Verb[ForeignFile, Done]          = "POST /v1/marks"
)

// Changes of webhooks, channels and pairings.
const (
	AddWebhook    Verb[WebhookDraft, MadeWebhook]    = "POST /v1/hooks/{id}/add" // id: its name
	RemoveWebhook Verb[None, Webhook]                = "POST /v1/hooks/{id}/remove"
	PauseWebhook  Verb[None, Webhook]                = "POST /v1/hooks/{id}/pause"
	ResumeWebhook Verb[None, Webhook]                = "POST /v1/hooks/{id}/resume"
	RotateWebhook Verb[WebhookRotation, MadeWebhook] = "POST /v1/hooks/{id}/rotate"
	TestWebhook   Verb[WebhookSample, WebhookTest]   = "POST /v1/hooks/{id}/test"
	TestChannel   Verb[TestMessage, ChannelTest]     = "POST /v1/channels/{id}/test"
	StartPairing  Verb[None, PairingStart]           = "POST /v1/pairings/{id}/start" // id: the name of a channel
	EndPairing    Verb[None, Pairing]                = "POST /v1/pairings/{id}/end"
	RevokePairing Verb[None, Pairing]                = "POST /v1/pairings/{id}/revoke"
)

// Programs with tokens of their own. What they may ask is no route of this list; see package server.
const (
	AddEndpoint    Verb[None, MadeEndpoint] = "POST /v1/endpoints/{id}/add" // id: its name
	RemoveEndpoint Verb[None, Done]         = "POST /v1/endpoints/{id}/remove"
)

// Changes of models, of the budget and of hob itself.
const (
	UseModel      Verb[None, Text]             = "POST /v1/model/{id}/use"
	TestModel     Verb[None, ModelTest]        = "POST /v1/model/{id}/test"
	BeginSignIn   Verb[None, SignIn]           = "POST /v1/model/codex/login"
	AwaitSignIn   Verb[None, Account]          = "POST /v1/model/codex/wait"
	FinishSignIn  Verb[SignInAddress, Account] = "POST /v1/model/codex/finish"
	CancelSignIn  Verb[None, Done]             = "POST /v1/model/codex/cancel"
	SignOut       Verb[None, SignedOut]        = "POST /v1/model/codex/logout"
	SetBudget     Verb[BudgetChange, Budget]   = "POST /v1/budget/set"
	ReindexMemory Verb[None, Done]             = "POST /v1/memory/reindex"
	LeaveSafeMode Verb[None, Done]             = "POST /v1/safe-mode/off"
	StartRecord   Verb[None, Recording]        = "POST /v1/record/{id}/start" // id: what is recorded
	StopRecord    Verb[None, Recording]        = "POST /v1/record/stop"
	CreateBackup  Verb[BackupPath, Backup]     = "POST /v1/backup/create"
)

// Changes of skills. Check changes nothing.
const (
	TrustSkill          Verb[SkillHash, Skill]   = "POST /v1/skills/{id}/trust"
	RemoveSkill         Verb[None, Skill]        = "POST /v1/skills/{id}/remove"
	AddSkill            Verb[SkillSource, Skill] = "POST /v1/skills/add"
	CheckSkill          Verb[SkillSource, Skill] = "POST /v1/skills/check"
	RefreshCapabilities Verb[None, Text]         = "POST /v1/capabilities/refresh"
)

// Changes of the owner's accounts at services. Add and Test sign in; both store what the service tells.
const (
	AddAccount    Verb[AccountValues, LinkedAccount] = "POST /v1/accounts/{id}/add" // id: its kind
	TestAccount   Verb[None, LinkedAccount]          = "POST /v1/accounts/{id}/test"
	RemoveAccount Verb[None, LinkedAccount]          = "POST /v1/accounts/{id}/remove"

	BeginAccountLogin  Verb[None, SignIn]                 = "POST /v1/accounts/{id}/login"
	AwaitAccountLogin  Verb[None, LinkedAccount]          = "POST /v1/accounts/{id}/wait"
	FinishAccountLogin Verb[SignInAddress, LinkedAccount] = "POST /v1/accounts/{id}/finish"
	CancelAccountLogin Verb[None, Done]                   = "POST /v1/accounts/{id}/cancel"
)

// Changes of MCP servers. Test connects and changes nothing.
const (
	TestMCP    Verb[None, MCPOffer]       = "POST /v1/mcp/{id}/test"
	AcceptMCP  Verb[MCPHash, MCPServer]   = "POST /v1/mcp/{id}/accept"
	InstallMCP Verb[MCPSource, MCPSource] = "POST /v1/mcp/{id}/install" // for a section that is written afterwards
	RemoveMCP  Verb[None, MCPServer]      = "POST /v1/mcp/{id}/remove"  // forgets what was accepted; the section of the config stays

	BeginMCPLogin  Verb[None, SignIn]             = "POST /v1/mcp/{id}/login"
	AwaitMCPLogin  Verb[None, MCPServer]          = "POST /v1/mcp/{id}/wait"
	FinishMCPLogin Verb[SignInAddress, MCPServer] = "POST /v1/mcp/{id}/finish"
	CancelMCPLogin Verb[None, Done]               = "POST /v1/mcp/{id}/cancel"
)
