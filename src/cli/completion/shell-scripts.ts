export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * Each asks `__complete`, which prints a word a line, and last `:0` where the shell is to
 * add paths, `:4` where not.
 *
 * bash splits words at = and : too, and replaces only the last piece, so that what stands
 * before it is cut off every answer. No feature that bash 3.2 (macOS) lacks.
 */
const bash = `# bash completion of cadastre: source <(cadastre completion bash)
_cadastre() {
  local line="\${COMP_LINE:0:COMP_POINT}" piece="\${COMP_WORDS[COMP_CWORD]}"
  local current prefix answer word directive=':4'
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]}-1]}"
  [[ $piece == '=' || $piece == ':' ]] && piece=''
  prefix="\${current%"$piece"}"
  answer=$("\${words[0]/#\\~/$HOME}" __complete -- "\${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $word == :[0-9]* ]]; then directive=$word
    elif [[ -n $word ]]; then COMPREPLY+=("\${word#"$prefix"}")
    fi
  done <<< "$answer"
  if [[ $directive == ':0' ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$piece")
  fi
}
complete -F _cadastre cadastre
`;

const zsh = `#compdef cadastre
# zsh completion of cadastre: cadastre completion zsh > "\${fpath[1]}/_cadastre"
_cadastre() {
  local -a answer found
  local line directive=':4'
  answer=("\${(@f)$("\${(Q)words[1]/#\\~/$HOME}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${answer[@]}"; do
    if [[ $line == :[0-9]* ]]; then directive=$line
    elif [[ -n $line ]]; then found+=("$line")
    fi
  done
  (( \${#found} )) && compadd -V cadastre -- "\${found[@]}"
  [[ $directive == ':0' ]] && _files
  return 0
}
if [[ \${funcstack[1]} == _cadastre ]]; then _cadastre "$@"; else compdef _cadastre cadastre; fi
`;

const fish = `# fish completion of cadastre: cadastre completion fish > ~/.config/fish/completions/cadastre.fish
function __cadastre_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    string match -v -r '^:[0-9]' -- $answer
    if contains -- :0 $answer
        __fish_complete_path "$current"
    end
end
complete -c cadastre -f -a '(__cadastre_complete)'
`;

export const completionScripts: Record<Shell, string> = { bash, zsh, fish };
