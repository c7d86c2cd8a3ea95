package markup_test

import (
	"strings"
	"testing"

	"hob/channels/markup"
)

// inputs.md, kind 10: a mark beside full-width or CJK punctuation opens or closes where no space is written.
func TestEmphasisBesideCJK(t *testing.T) {
	for _, tc := range []struct{ from, markdown, want string }{
		{"kind 10, first input", "**重要提示（注意）：**请看这里。", "<b>重要提示（注意）：</b>请看这里。"},
		{"kind 10, second input", "**중요(Important)：**請注意。這是**粗体**文字", "<b>중요(Important)：</b>請注意。這是<b>粗体</b>文字"},
		// Public reports: what models and people write, and where the stars were seen.
		{"commonmark-spec 650", "**真。**她", "<b>真。</b>她"},
		{"commonmark-spec 650, an opening bracket", "**真（**她", "<b>真（</b>她"},
		{"commonmark-spec 650, an ambiguous dash", "**真—**她", "<b>真—</b>她"},
		{"commonmark-spec 650, an ASCII sign", "**真-**她", "<b>真-</b>她"},
		{"commonmark-spec 839, Japanese", "これは**「重要なこと」**です。", "これは<b>「重要なこと」</b>です。"},
		{"commonmark-spec 839, Korean", "문서를 작성할 때 **마크다운(Markdown)**을 사용하세요.", "문서를 작성할 때 <b>마크다운(Markdown)</b>을 사용하세요."},
		{"qwen-code 9456", `这是**"取出并重置"（take-and-reset）模式**。`, "这是<b>&quot;取出并重置&quot;（take-and-reset）模式</b>。"},
		{"lobehub 7852", "AI在**“工具性智能”** 或**“特定任务智能”** 方面", "AI在<b>“工具性智能”</b> 或<b>“特定任务智能”</b> 方面"},
		{"markdown-preview.nvim 343", "**试一试。**1", "<b>试一试。</b>1"},
		{"nestjs.kr 8", "**암호화(Encryption)**는 정보를", "<b>암호화(Encryption)</b>는 정보를"},
		{"mdBook 376", "종종 *자원 습득(RAII)*이라", "종종 <i>자원 습득(RAII)</i>이라"},
		{"remark-cjk-friendly, Korean code", "**`npm publish`**를 실행", "<code>npm publish</code>를 실행"},
		{"remark-cjk-friendly, a link", "単語と**[単語](https://e.org)**単語", `単語と<b><a href="https://e.org">単語</a></b>単語`},
		{"remark-cjk-friendly, ASCII brackets", "𠮟**(こちらが正式表記)**", "𠮟<b>(こちらが正式表記)</b>"},
		{"remark-cjk-friendly, a variation selector", "葛󠄀**(正式)**城市", "葛󠄀<b>(正式)</b>城市"},
		{"remark-cjk-friendly, quotes of full width", "**“\ufe01Git”\ufe01**Hub", "<b>“\ufe01Git”\ufe01</b>Hub"},
		{"remark-cjk-friendly, a form of a sign", "正體字。\ufe01__Hong Kong.__", "正體字。\ufe01<b>Hong Kong.</b>"},
		{"remark-cjk-friendly, a symbol that is no emoji", "a**🈂**a", "a<b>🈂</b>a"},
		{"remark-cjk-friendly, a letter of Hangul", "ᅡ**(a)**", "ᅡ<b>(a)</b>"},
		{"remark-cjk-friendly-gfm-strikethrough", "a~~「b」~~c", "a<s>「b」</s>c"},
		{"italic with a low line", "注意：__注意事項__", "注意：<b>注意事項</b>"},
		// Guards: without a CJK character beside a mark CommonMark's own rule counts.
		{"Latin, a letter", "**Note:**text", "**Note:**text"},
		{"Latin, an opening", "a**“b”**c", "a**“b”**c"},
		{"Latin beside CommonMark's example", "a*\"foo\"*", "a*&quot;foo&quot;*"},
		{"a product", "2 ** 3 ** 4", "2 ** 3 ** 4"},
		{"a product of Chinese words", "长 ** 宽 ** 高", "长 ** 宽 ** 高"},
		{"words with low lines", "文_件_名 和 snake_case_name", "文_件_名 和 snake_case_name"},
		{"one mark", "价格*（含税）", "价格*（含税）"},
		{"an emoji is no CJK character", "a**(b)**🎉", "a**(b)**🎉"},
		{"an emoji of a squared word", "a**(b)**🈚", "a**(b)**🈚"},
		{"symbols of mathematics", "a**∇a**a", "a**∇a**a"},
		{"in code", "`**真。**她`", "<code>**真。**她</code>"},
		{"escaped", `\*\*真。\*\*她`, "**真。**她"},
	} {
		for _, text := range []string{tc.markdown, markup.Rewrite(tc.markdown)} {
			if got := markup.Telegram().Render(text).Text; got != tc.want {
				t.Errorf("%s, %q:\n got %s\nwant %s", tc.from, text, got, tc.want)
			}
		}
	}
}

// The other forms show the same stretches, and a draft cut anywhere renders without a mistake.
func TestEmphasisBesideCJKInEveryForm(t *testing.T) {
	const text = "**重要提示（注意）：**请看这里。**중요(Important)：**請注意。這是**粗体**文字"
	for _, tc := range []struct {
		form markup.Form
		want string
	}{
		{markup.Slack(), "*重要提示（注意）：*" + gap + "请看这里。" + gap + "*중요(Important)：*" + gap + "請注意。這是" + gap + "*粗体*" + gap + "文字"},
		{markup.Discord(), "**重要提示（注意）：**" + gap + "请看这里。" + gap + "**중요(Important)：**" + gap + "請注意。這是" + gap + "**粗体**" + gap + "文字"},
		{markup.IRC(), "\x02重要提示（注意）：\x02请看这里。\x02중요(Important)：\x02請注意。這是\x02粗体\x02文字"},
		{markup.Plain(), strings.ReplaceAll(text, "*", "")},
	} {
		if got := tc.form.Render(text).Text; got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.form.Name, got, tc.want)
		}
	}
	for at := range len(text) {
		for _, form := range forms() {
			check(t, form, text[:at])
		}
	}
}
