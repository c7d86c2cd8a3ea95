// Package fail names the places in the code where a crash is interesting.
// In a release build its functions do nothing and cost nothing; built with
// -tags hobtest they can kill the process or switch in a deliberate fault.
package fail
