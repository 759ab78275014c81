/**
 * Puts a text on the clipboard. Gives false where the browser has none for pages (on plain HTTP, or where that is
 * forbidden): then the text that stands in the page is selected.
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
