/**
 * Copies the text to the clipboard. If the clipboard is unavailable, for example on plain HTTP, selects the text on the
 * page and resolves with false.
 */
export async function copyText(text: string, shown: () => Element | null): Promise<boolean> {
  try {
    if (!navigator.clipboard) throw new Error('a page on plain HTTP has no clipboard');
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const element = shown();
    if (element instanceof HTMLTextAreaElement) {
      element.focus();
      element.select();
    } else if (element) getSelection()?.setBaseAndExtent(element, 0, element, element.childNodes.length);
    return false;
  }
}
