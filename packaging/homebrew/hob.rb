class Hob < Formula
  desc "Background daemon that does chores for one person"
  homepage "@URL@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL_darwin_arm64@"
      sha256 "@SHA256_darwin_arm64@"
    end
    on_intel do
      url "@URL_darwin_amd64@"
      sha256 "@SHA256_darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL_linux_arm64@"
      sha256 "@SHA256_linux_arm64@"
    end
    on_intel do
      url "@URL_linux_amd64@"
      sha256 "@SHA256_linux_amd64@"
    end
  end

  def install
    bin.install "hob"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/hob.bash" => "hob"
    zsh_completion.install "completions/_hob"
    fish_completion.install "completions/hob.fish"
    doc.install "LICENSE", "THIRD-PARTY-LICENSES.txt"
  end

  service do
    run [opt_bin/"hob", "up", "--no-chat"]
    keep_alive true
    log_path var/"log/hob.log"
    error_log_path var/"log/hob.log"
  end

  test do
    ENV["HOB_HOME"] = testpath/"home"
    assert_match "no daemon", shell_output("#{bin}/hob status 2>&1", 3)
  end
end
