package daemon

// OwnWords lets the tests see the rule for typed prompts.
var OwnWords = ownWords
