package openai

import (
	"slices"
	"sync"
)

// This file lists what models and their servers write into the text of an answer although it is not the answer, because the server does not
// translate what the model's template makes it write. What is beyond the text (indexes, ids, types) is in calls.go and decode.go:
//
//	what                                                  seen from
//	several calls with index 0, or without an index       Ollama (ollama/ollama#15457, #7881), Gemini's compatible API, LiteLLM
//	the index counts something else than the calls        SGLang (sgl-project/sglang#6310), some vLLM parsers
//	"{}" first and the arguments later                    LM Studio, Anthropic by LiteLLM
//	each piece repeats the arguments so far               DashScope without incremental output, some proxies
//	numbers as texts, a finish reason as an object        One API, New API and other gateways
//	"[DONE]" without a finish reason                      older llama.cpp and TGI, proxies
//	half of a surrogate pair at the end of a chunk        LM Studio, KoboldCpp
//	a call without a name, as the arguments of one        Ollama by LiteLLM (BerriAI/litellm#3333)
//	function_call in place of tool_calls                  LocalAI, Xinference, older Azure versions

// blockKind says what a block holds.
type blockKind int

const (
	thinking blockKind = iota + 1 // private
	calling                       // a tool call
	nothing                       // only a mark, without content
)

// block is what stands between two marks in a text.
type block struct {
	kind        blockKind
	open, close string // close "": to the end of the answer
	special     bool   // the marks are special tokens; those of calls cannot be plain words or tags
}

// dialects lists the blocks, with the models whose templates write them.
var dialects = sync.OnceValue(func() []block {
	return []block{
		{thinking, "<think>", "</think>", false},                       // DeepSeek R1, Qwen 3, GLM, MiniMax, Magistral by some servers
		{thinking, "<thinking>", "</thinking>", false},                 // Claude by proxies, fine-tunes
		{thinking, "<thought>", "</thought>", false},                   // Gemini's compatible API
		{thinking, "<reasoning>", "</reasoning>", false},               // fine-tunes for reasoning
		{thinking, "<seed:think>", "</seed:think>", true},              // Seed-OSS
		{thinking, "[THINK]", "[/THINK]", true},                        // Magistral
		{thinking, "◁think▷", "◁/think▷", true},                        // Kimi-VL
		{thinking, "<|begin_of_thought|>", "<|end_of_thought|>", true}, // OpenThinker
		{thinking, "<|START_THINKING|>", "<|END_THINKING|>", true},     // Command A
		{thinking, "<|channel|>analysis<|message|>", "<|end|>", true},  // gpt-oss (harmony)
		{thinking, "<|start|>assistant<|channel|>analysis<|message|>", "<|end|>", true},
		{thinking, "<|channel>thought", "<channel|>", true},               // Gemma 4
		{thinking, "<mm:think>", "</mm:think>", true},                     // MiniMax M3
		{thinking, "<longcat_think>", "</longcat_think>", true},           // LongCat
		{thinking, "<|open|>think<|sep|>", "<|close|>think<|sep|>", true}, // Kimi K3
		{thinking, "[BEGIN REASONING]", "[BEGIN FINAL RESPONSE]", true},   // Apriel, which writes only the closing mark

		{calling, "<tool_call>", "</tool_call>", false},                               // Hermes, Qwen, GLM
		{calling, "<function=", "</function>", false},                                 // Qwen 3 Coder, Llama 3.1
		{calling, "<function_calls>", "</function_calls>", false},                     // Claude by proxies
		{calling, "<minimax:tool_call>", "</minimax:tool_call>", false},               // MiniMax M2
		{calling, "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", true}, // Kimi K2
		{calling, "<|tool_call_section_begin|>", "<|tool_call_section_end|>", true},   // Kimi K2, sometimes
		{calling, "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", true},                 // DeepSeek
		{calling, "[TOOL_CALLS]", "", false},                                          // Mistral
		{calling, "<|python_tag|>", "", true},                                         // Llama 3
		{calling, "<|channel|>commentary to=", "<|call|>", true},                      // gpt-oss
		{calling, "<|start|>assistant<|channel|>commentary to=", "<|call|>", true},    // gpt-oss
		{calling, "<|channel|>analysis to=", "<|call|>", true},                        // gpt-oss, among its thinking
		{calling, "<|start|>assistant<|channel|>analysis to=", "<|call|>", true},      // gpt-oss
		{calling, "<|start|>assistant to=", "<|call|>", true},                         // gpt-oss, with the tool beside the role
		{calling, "<|START_ACTION|>", "<|END_ACTION|>", true},                         // Command A
		{calling, "<invoke name=", "</invoke>", false},                                // Claude by proxies
		{calling, "<tool_calls>", "</tool_calls>", false},                             // Hunyuan, Jamba
		{calling, "<TOOLCALL>", "</TOOLCALL>", false},                                 // Nemotron
		{calling, "<seed:tool_call>", "</seed:tool_call>", false},                     // Seed-OSS
		{calling, "<longcat_tool_call>", "</longcat_tool_call>", false},               // LongCat
		{calling, "<|tool_call_begin|>", "<|tool_call_end|>", true},                   // Kimi K2 without a section
		{calling, "<|open|>tools<|sep|>", "<|close|>tools<|sep|>", true},              // Kimi K3
		{calling, "]<]minimax[>[<tool_call>", "]<]minimax[>[</tool_call>", true},      // MiniMax M3
		{calling, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", true},                   // DeepSeek without a section
		{calling, "<｜DSML｜function_calls>", "</｜DSML｜function_calls>", true},          // DeepSeek V3.2
		{calling, "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", true},                  // DeepSeek V4
		{calling, "<｜DSML｜invoke name=", "</｜DSML｜invoke>", true},                     // DeepSeek without a section
		{calling, "<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", true},                 // Step 3
		{calling, "<|tool_call>", "<tool_call|>", true},                               // Gemma 4
		{calling, "<|tool_call|>", "", true},                                          // Granite, Phi 4
		{calling, "<|tool_call_start|>", "<|tool_call_end|>", true},                   // LFM 2
		{calling, "<|python_start|>", "<|python_end|>", true},                         // Llama 4
		{calling, "<|action_start|><|plugin|>", "<|action_end|>", true},               // InternLM
		{calling, "[TOOL_CALL]", "[/TOOL_CALL]", false},                               // MiniMax M2 by LM Studio: no JSON, so it is not read
		{calling, "[TOOL_REQUEST]", "[END_TOOL_REQUEST]", false},                      // LM Studio, for models without a form of their own

		{nothing, "<|start|>assistant<|channel|>final<|message|>", "", true},
		{nothing, "<|channel|>final<|message|>", "", true},
		{nothing, "<|start|>assistant<|channel|>commentary<|message|>", "", true},
		{nothing, "<|channel|>commentary<|message|>", "", true},
		{nothing, "<|im_start|>assistant\n", "", true},
		{nothing, "<|begin_of_solution|>", "", true},
		{nothing, "<|START_RESPONSE|>", "", true},
		{nothing, "<|open|>response<|sep|>", "", true},
	}
})

// ends lists the control words that end an answer. They are removed from its end only.
func ends() []string {
	return []string{
		"<|im_end|>", "<|end|>", "<|return|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>", "</s>", "<end_of_turn>", "<turn|>",
		"<｜end▁of▁sentence｜>", "<|end_of_solution|>", "<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>", "<|eot|>", "<|user|>", "<|observation|>", "[e~[",
		"<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>", "[END FINAL RESPONSE]", "<|/tool_call|>", "<|tool_response>",
	}
}

// closings lists the blocks of thinking, one for each closing mark. Some templates put the opening mark into the prompt, so that only this one is in the
// answer.
func closings() (list []block) {
	for _, b := range dialects() {
		if b.kind == thinking && !slices.ContainsFunc(list, func(o block) bool { return o.close == b.close }) {
			list = append(list, b)
		}
	}
	return list
}
