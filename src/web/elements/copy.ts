/**
 * Puts a text on the clipboard. Where the browser has none for this page (on plain HTTP, or where it is forbidden), selects
 * the text where the page shows it, and gives false.
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
